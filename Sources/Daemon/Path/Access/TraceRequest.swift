import NetproxyHTTP1
import NetproxyHTTPMessage
import NetworkCore

/// A request with TRACE, or with TRACK, Microsoft's name for it.
enum TraceRequest {
    /// Refuses a TRACE request: the response would show the client the secrets that a channel adds (RFC
    /// 9110 §9.3.8), even the response of the last recipient.
    ///
    /// Some servers ignore the case of a method, and some read it from a field or a parameter.
    ///
    /// - Parameters:
    ///   - head: the request.
    ///   - target: the target of the upstream request.
    /// - Throws: `http_request_denied` with 403.
    static func refuse(_ head: borrowing RequestHead, target: String) throws(NetworkError) {
        let method = head.method
        // Checking the length first spares almost every request the string comparison.
        let name: String? =
            if method.rawValue.utf8.count == 5, MethodOverride.isTrace(method.rawValue) {
                method.rawValue
            } else {
                MethodOverride.askingForTrace(in: head.headers, target)
                    .map { "TRACE, which \($0) asks for," }
            }
        guard let name else { return }
        throw NetworkError(
            .httpRequestDenied,
            side: .downstream,
            detail: "\(name) would show the channel's credential",
            status: 403
        )
    }
}
