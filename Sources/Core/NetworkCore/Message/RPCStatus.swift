package import NetproxyHTTPMessage

/// The status of a gRPC call, as in its status codes document.
///
/// It is in a field of the response or of the trailers, while the HTTP status is 200.
package struct RPCStatus: RawRepresentable, Sendable, Hashable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }

    package static let cancelled = RPCStatus(rawValue: 1)
    package static let deadlineExceeded = RPCStatus(rawValue: 4)
    package static let permissionDenied = RPCStatus(rawValue: 7)
    package static let resourceExhausted = RPCStatus(rawValue: 8)
    package static let unimplemented = RPCStatus(rawValue: 12)
    package static let internalError = RPCStatus(rawValue: 13)
    package static let unavailable = RPCStatus(rawValue: 14)
    package static let unauthenticated = RPCStatus(rawValue: 16)

    /// The names, indexed by code.
    package static let names = [
        "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
        "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
        "ABORTED",
        "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
    ]

    /// The name, or the number of a code without a name.
    package var name: String {
        RPCStatus.names.indices.contains(rawValue) ? RPCStatus.names[rawValue] : "\(rawValue)"
    }

    /// Whether the call failed for a reason that concerns an operator.
    package var isTrouble: Bool {
        switch rawValue {
        case 0, 1, 3, 5, 6, 9, 11: false
        default: true
        }
    }

    /// Reads the status from a field section; returns `nil` if it is missing or not a number.
    package init?(in headers: HTTPHeaders) {
        guard let text = headers[RPCStatus.field], (1...4).contains(text.utf8.count),
            let code = Int(text), code >= 0
        else { return nil }
        self.init(rawValue: code)
    }

    /// `grpc-status`.
    package static let field: HTTPFieldName = "grpc-status"
    /// `grpc-message`, percent-encoded.
    package static let messageField: HTTPFieldName = "grpc-message"

    /// Whether the response to a call is UNAUTHENTICATED, gRPC's equivalent of a 401.
    ///
    /// In gRPC-Web over HTTP/1.1 this is a response without messages, whose head has the status.
    static func isRefusal(_ response: borrowing Response, over version: HTTPVersion) -> Bool {
        if version != .http2 {
            // Most responses have content in memory, so the fields are rarely examined.
            if case .bytes(let content) = response.body, content.count > 0 { return false }
            guard response.status == 200, RPCForm(of: response.headers) != nil else { return false }
        }
        return RPCStatus(in: response.headers) == .unauthenticated
    }
}
