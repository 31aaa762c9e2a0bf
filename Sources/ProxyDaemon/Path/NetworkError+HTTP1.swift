import HTTP1
import NetworkCore

extension NetworkError {
    /// An app's request that HTTP/1 does not allow, with the status that says so.
    init(_ error: HTTP1Error) {
        self.init(
            .httpRequestError,
            side: .downstream,
            detail: "\(error.reason)",
            status: error.status
        )
    }
}
