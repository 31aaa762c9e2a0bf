// swift-format-ignore-file
// The lines of a document stay as they are written there.
import Foundation
import MTNetwork

// What the document leaves to its reader.

public enum APIEnvironment {
    public nonisolated(unsafe) static var baseURL = URL(fileURLWithPath: "/")
}

enum KeyProvider {
    enum Key { case clientId }
    static func appKey(of key: Key) -> String { "Client-ID \(key)" }
}

// The sample, line by line.

// sample
enum PhotoRequest {
    case fetchImages(query: [String: Any])
}

extension PhotoRequest: Requestable {

    var baseURL: URL {
        return APIEnvironment.baseURL
    }

    var path: String {
        switch self {
        case .fetchImages:
            return "/photos"
        }
    }

    var method: MTNetwork.HTTPMethod {
        switch self {
        case .fetchImages:
            return .get
        }
    }

    var task: MTNetwork.HTTPTask {
        switch self {
        case let .fetchImages(query):
            return .requestParameters(query)
        }
    }

    var headers: MTNetwork.HTTPHeaders {
        switch self {
        case .fetchImages:
            let token = "\(KeyProvider.appKey(of: .clientId))"
            let authorization = HTTPHeader.authorization(token)
            return HTTPHeaders([authorization])
        }
    }

    var requestTimeout: Float {
        return 20
    }

    var sampleData: Data? {
        return Data()
    }

}
// end

/// What a server says of the request for photos.
public func photos() async throws -> [String: String] {
    let request = PhotoRequest.fetchImages(query: ["order_by": "popular", "page": 2])
    let response = try await Provider<PhotoRequest>().request(request)
    guard response.statusCode == 200, response.description.hasPrefix("Status Code: 200") else {
        return [:]
    }
    return try response.decode([String: String].self)
}
