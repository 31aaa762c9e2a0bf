import HTTPMessage
import NetworkCore

/// What there is on the admin socket, by path.
enum AdminRoute {
    case page
    case health
    case readiness
    case metrics
    case status
    case tail
    /// One exchange, by the identifier of its request.
    case why(String)
    case keys
    case reload
    /// The tokens of a channel, and what may be done to them.
    case tokens(channel: String)
    case refresh(channel: String)
    case adopt(channel: String)

    init?(_ path: String) {
        let parts = path.split(separator: "/").map(String.init)
        switch parts.count {
        case 0: self = .page
        case 1:
            switch parts[0] {
            case "healthz": self = .health
            case "readyz": self = .readiness
            case "metrics": self = .metrics
            case "status": self = .status
            case "tail": self = .tail
            case "keys": self = .keys
            case "reload": self = .reload
            default: return nil
            }
        case 2 where parts[0] == "why": self = .why(PercentEncoding.decodedSegment(parts[1][...]))
        case 3...4 where parts[0] == "channels" && parts[2] == "token":
            switch parts.dropFirst(3).first {
            case nil: self = .tokens(channel: parts[1])
            case "refresh": self = .refresh(channel: parts[1])
            case "adopt": self = .adopt(channel: parts[1])
            default: return nil
            }
        default: return nil
        }
    }

    /// The one method it is for; GET stands for HEAD as well (RFC 9110 §9.3.2).
    var method: HTTPMethod {
        switch self {
        case .page, .health, .readiness, .metrics, .status, .tail, .why: .get
        case .keys, .reload, .refresh, .adopt: .post
        case .tokens: .delete
        }
    }

    /// The methods as `Allow` has them.
    var allowed: String { method == .get ? "GET, HEAD" : method.description }
}
