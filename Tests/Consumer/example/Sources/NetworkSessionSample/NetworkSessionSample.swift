// swift-format-ignore-file
// The lines of a document stay as they are written there.
import Foundation
import NetworkSession

// The document has no code: this is what it describes, as its users would write it.

/// The server of this example.
public nonisolated(unsafe) var server = ""

public struct City: Decodable, Sendable {
    public var target: String
    public var authorization: String
    public var body: String
}

// sample
struct CityRequest: RequestProtocol {
    var scheme: Origin.Scheme { .http }  // differs: the server of this example
    var host: String { server }  // differs: the server of this example
    var path: String { "/v1/city" }
    var urlParams: [String: String?] { ["q": "Ulm"] }
    var params: [String: Any] { ["deep": ["a": 1]] }
    var addAuthorizationToken: Bool { true }
    var requestType: RequestType { .POST }
}

func city(_ path: String) async throws -> City {
    let manager = RequestManager()
    return try await manager.perform(CityRequest(), authToken: "t")
}
// end

struct BrokenRequest: RequestProtocol {
    var scheme: Origin.Scheme { .http }
    var host: String { server }
    var path: String { "/broken" }
    var requestType: RequestType { .GET }
}

/// The city, and what the server says of its error.
public func cityAndError() async throws -> (City, String) {
    let city = try await city("/v1/city")
    do {
        let _: City = try await RequestManager().perform(BrokenRequest())
        return (city, "none")
    } catch NetworkError.ServerError(let details) {
        return (city, details.message)
    }
}
