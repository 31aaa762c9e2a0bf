import NetproxyHTTPMessage
import NetworkCore

/// An unusable credential of a channel with several credentials.
struct MissingCredential: Authorizing {
    let detail: String
    let kind = "none"
    let fieldName = HTTPFieldName.authorization

    func currentCredential() -> Credential? { nil }

    func credential(until deadline: ContinuousClock.Instant?) throws -> Credential {
        throw NetworkError(.credentialUnavailable, side: .proxy, retry: .safe, detail: detail)
    }

    func rejected(_ rejection: Rejection) -> Verdict { .passThrough(.refreshFailed) }

    func timed() -> any Authorizing { self }
}
