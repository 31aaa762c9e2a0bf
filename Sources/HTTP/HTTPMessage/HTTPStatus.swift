/// A status code of three digits (RFC 9110 §15), 100 to 999.
public struct HTTPStatus: RawRepresentable, Sendable, Hashable, CustomStringConvertible,
    ExpressibleByIntegerLiteral
{
    /// The code.
    public let rawValue: Int

    /// Creates a status; returns `nil` outside 100...999.
    public init?(rawValue: Int) {
        guard (100...999).contains(rawValue) else { return nil }
        self.rawValue = rawValue
    }

    /// Creates a status from a literal; a value outside 100...999 becomes the nearest bound.
    public init(integerLiteral value: Int) {
        rawValue = min(max(value, 100), 999)
    }

    /// The code; the same as `rawValue`.
    public var code: Int { rawValue }
    /// Whether the status is 2xx.
    public var isSuccess: Bool { kind == .successful }

    /// The class of the response, from the first digit.
    public enum Class: Sendable {
        /// 1xx: the final response follows.
        case informational
        /// 2xx.
        case successful
        /// 3xx: another request is needed, or the content has not changed.
        case redirection
        /// 4xx: the request is at fault.
        case clientError
        /// 5xx: the server is at fault.
        case serverError
        /// Any other number.
        case unknown
    }

    /// The class of the response.
    public var kind: Class {
        switch rawValue {
        case 100..<200: .informational
        case 200..<300: .successful
        case 300..<400: .redirection
        case 400..<500: .clientError
        case 500..<600: .serverError
        default: .unknown
        }
    }

    /// The usual reason phrase; empty for an unknown code.
    public var reasonPhrase: StaticString {
        switch rawValue {
        case 100: "Continue"
        case 101: "Switching Protocols"
        case 103: "Early Hints"
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 203: "Non-Authoritative Information"
        case 204: "No Content"
        case 205: "Reset Content"
        case 206: "Partial Content"
        case 207: "Multi-Status"
        case 300: "Multiple Choices"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 303: "See Other"
        case 304: "Not Modified"
        case 307: "Temporary Redirect"
        case 308: "Permanent Redirect"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 402: "Payment Required"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 407: "Proxy Authentication Required"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 411: "Length Required"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 416: "Range Not Satisfiable"
        case 417: "Expectation Failed"
        case 421: "Misdirected Request"
        case 422: "Unprocessable Content"
        case 425: "Too Early"
        case 426: "Upgrade Required"
        case 428: "Precondition Required"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 505: "HTTP Version Not Supported"
        case 508: "Loop Detected"
        default: ""
        }
    }

    /// The three digits.
    public var description: String { String(rawValue) }
}

extension HTTPStatus: Comparable {
    /// Whether the first code is lower.
    public static func < (left: HTTPStatus, right: HTTPStatus) -> Bool {
        left.rawValue < right.rawValue
    }
}
