import Foundation
import NetworkClient
import NetworkTesting

/// A small API for the tests of the manager.
enum OrderEndpoint: Endpoint {
    case order(Int)
    case list
    case create(Order)
    case remove(Int)
    case account
    case login
    case export

    var baseURL: BaseURL { "https://api.example.com/v1" }

    var path: String {
        switch self {
        case .order(let id), .remove(let id): "/orders/\(id)"
        case .list, .create: "/orders"
        case .account: "/account"
        case .login: "/login"
        case .export: "/export"
        }
    }

    var method: HTTPMethod {
        switch self {
        case .create: .post
        case .remove: .delete
        default: .get
        }
    }

    var task: HTTPTask {
        if case .create(let order) = self { .json(order) } else { .plain }
    }

    var authorization: AuthorizationRequirement {
        switch self {
        case .account: .required
        case .login: .never
        default: .optional
        }
    }

    var timeout: Duration? {
        if case .export = self { .seconds(5) } else { nil }
    }

    var sampleData: Data {
        if case .order(let id) = self {
            Data(#"{"id":\#(id),"name":"sample"}"#.utf8)
        } else {
            Data()
        }
    }
}

struct Order: Codable, Sendable, Hashable {
    var id: Int
    var name: String
}

/// The test server's description of an error.
struct ServerError: Decodable, Equatable {
    var code: String
}

extension NetworkChannel {
    /// Returns a channel with a stub and no waits between attempts.
    static func stubbed(
        _ stub: any HTTPTransport,
        authorizer: (any Authorizing)? = nil,
        interceptors: [any RequestInterceptor] = []
    ) -> NetworkChannel {
        var channel = NetworkChannel(
            transport: stub,
            authorizer: authorizer,
            interceptors: interceptors
        )
        channel.retry?.base = .zero
        return channel
    }
}
