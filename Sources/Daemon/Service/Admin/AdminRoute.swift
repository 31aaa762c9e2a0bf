package import NetproxyHTTPMessage
import NetworkCore

/// The routes of the admin socket.
///
/// This is the only table of its paths and methods, shared by the daemon and the commands.
package enum AdminRoute: Sendable, Equatable {
    case page
    case health
    case readiness
    case metrics
    case status
    case tail
    /// The place of the log, for users without permission to read the configuration.
    case log
    /// The remembered exchanges as an HTTP Archive.
    case archive
    /// One exchange, by its request id.
    case why(String)
    /// The newest exchange that failed, was refused or was sent again.
    case newest
    case keys
    case reload
    /// The tokens of a channel, which can be removed.
    case tokens(channel: String)
    case refresh(channel: String)
    case adopt(channel: String)
    /// Records that a command has shown a token, which the command read itself.
    case revealed(channel: String)

    /// Returns all routes, with a value for their parameter, if any.
    private static func all(_ parameter: String) -> [AdminRoute] {
        [
            .page, .health, .readiness, .metrics, .status, .tail, .log, .archive,
            .why(parameter), .newest,
            .keys, .reload,
            .tokens(channel: parameter), .refresh(channel: parameter), .adopt(channel: parameter),
            .revealed(channel: parameter),
        ]
    }

    /// The segments of the path; `*` is the parameter.
    private var segments: [String] {
        switch self {
        case .page: []
        case .health: ["healthz"]
        case .readiness: ["readyz"]
        case .metrics: ["metrics"]
        case .status: ["status"]
        case .tail: ["tail"]
        case .log: ["log"]
        case .archive: ["har"]
        case .why: ["why", "*"]
        case .newest: ["why"]
        case .keys: ["keys"]
        case .reload: ["reload"]
        case .tokens: ["channels", "*", "token"]
        case .refresh: ["channels", "*", "token", "refresh"]
        case .adopt: ["channels", "*", "token", "adopt"]
        case .revealed: ["channels", "*", "token", "revealed"]
        }
    }

    /// The method of the route; GET includes HEAD (RFC 9110 §9.3.2).
    package var method: HTTPMethod {
        switch self {
        case .page, .health, .readiness, .metrics, .status, .tail, .log, .archive, .why, .newest:
            .get
        case .keys, .reload, .refresh, .adopt, .revealed: .post
        case .tokens: .delete
        }
    }

    /// Whether only root and the daemon's own user may use the route.
    ///
    /// Members of its group may only use the others: they read, and borrow keys.
    var isForOwner: Bool {
        switch self {
        case .page, .health, .readiness, .metrics, .status, .tail, .log, .archive, .why, .newest,
            .keys:
            false
        case .reload, .tokens, .refresh, .adopt, .revealed: true
        }
    }

    /// The methods for the `Allow` field.
    var allowed: String { method == .get ? "GET, HEAD" : method.description }

    /// Finds the route of a path.
    init?(_ path: String) {
        let parts = path.split(separator: "/")
        let parameter = parts.count > 1 ? PercentEncoding.decodedSegment(parts[1]) : ""
        let found = AdminRoute.all(parameter).first { route in
            route.segments.count == parts.count
                && zip(route.segments, parts).allSatisfy { $0 == "*" || $0 == $1 }
        }
        guard let found else { return nil }
        self = found
    }

    /// The path, percent-encoded.
    package var path: String {
        let parameter =
            switch self {
            case .why(let text), .tokens(let text), .refresh(let text), .adopt(let text),
                .revealed(let text):
                text
            default: ""
            }
        let parts = segments.map { $0 == "*" ? PercentEncoding.unreserved(parameter) : $0 }
        return "/" + parts.joined(separator: "/")
    }
}

/// The parameters of an admin request's query, decoded like a form: `+` and `%20` are spaces.
package struct AdminQuery: Sendable {
    private let parameters: [(name: String, value: String)]

    /// Creates a query from parameters; a parameter with an empty value has no `=`.
    package init(_ parameters: [(name: String, value: String)] = []) {
        self.parameters = parameters
    }

    /// Parses the query of a request.
    init(_ query: String?) {
        parameters = (query ?? "").split(separator: "&").map { parameter in
            let parts = parameter.split(
                separator: "=",
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            return (
                PercentEncoding.decoded(parts[0]),
                parts.count > 1 ? PercentEncoding.decoded(parts[1]) : ""
            )
        }
    }

    /// Returns the values of a name, in order.
    subscript(name: String) -> [String] {
        parameters.filter { $0.name == name }.map(\.value)
    }

    /// Returns the first name that is not in the set.
    func unknownName(among names: Set<String>) -> String? {
        parameters.first { !names.contains($0.name) }?.name
    }

    /// The query to append to a path, with its question mark; empty without parameters.
    package var text: String {
        guard !parameters.isEmpty else { return "" }
        let parts = parameters.map { name, value in
            let name = PercentEncoding.unreserved(name)
            return value.isEmpty ? name : "\(name)=\(PercentEncoding.unreserved(value))"
        }
        return "?" + parts.joined(separator: "&")
    }
}
