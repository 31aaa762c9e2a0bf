import NetproxyConfig
package import NetproxyHTTP1
import NetproxyHTTP2
package import NetworkCore

extension NetworkError {
    /// Creates the error for a request that violates HTTP/1, with the appropriate status.
    ///
    /// - Parameters:
    ///   - error: the violation.
    ///   - limits: the configured limits, which the detail names; `nil` if they are not configured.
    package init(_ error: HTTP1Error, _ limits: HTTP1Limits? = nil) {
        var detail = "\(error.reason)"
        if let limits, let limit = error.limit(of: limits) { detail += ": \(limit)" }
        self.init(.httpRequestError, side: .downstream, detail: detail, status: error.status)
    }

    /// Creates the error for a request that violates HTTP/2.
    init(_ fault: HTTP2Fault, _ limits: HTTP1Limits) {
        if case .message(let error) = fault {
            self.init(error, limits)
        } else {
            self.init(
                .httpRequestError,
                side: .downstream,
                detail: "\(fault.reason)",
                status: fault.status
            )
        }
    }
}

extension HTTP1Error {
    /// Returns the exceeded limit with its key and value; `nil` if no key sets it.
    fileprivate func limit(of limits: HTTP1Limits) -> String? {
        switch self {
        case .targetTooLong where limits.targetSize < limits.sectionSize:
            "limits.target_size is \(ByteCount(limits.targetSize))"
        case .sectionTooLarge, .targetTooLong:
            "limits.header_size is \(ByteCount(limits.sectionSize))"
        case .tooManyFields: "limits.header_count is \(limits.fieldCount)"
        default: nil
        }
    }
}
