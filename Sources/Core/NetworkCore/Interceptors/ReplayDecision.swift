/// What is done about a 401: a new token and a new proof of possession are each tried once in an
/// exchange, whichever is refused first, and a token that may be older than the first 401 does not count.
///
/// | renewed before | `replay`, `replayOnce` | `proveAgain` | `passThrough` |
/// |---|---|---|---|
/// | neither | attempt | attempt | its reason |
/// | the token | `already_replayed` | attempt | `already_replayed` |
/// | the proof | attempt | `proof_refused` | its reason |
/// | both | `already_replayed` | `proof_refused` | `already_replayed` |
///
/// A signature that was refused for its time is likewise made again once (`signAgain`).
///
/// Where the request could not be sent again in the first place, the reason for that replaces an
/// attempt.
enum ReplayDecision {
    /// Send the request once more, signed with this credential where there is one.
    case attempt(because: RetryReason, with: Credential?)
    /// The caller gets the 401, for this reason.
    case passThrough(NotReplayed)

    /// Decides.
    ///
    /// - Parameters:
    ///   - verdict: the authorizer's verdict on the 401.
    ///   - intent: the caller's intent, which the authorizer knew.
    ///   - retries: why the request was sent again before.
    init(
        _ verdict: Verdict,
        to intent: Rejection.Intent,
        after retries: ArraySlice<RetryReason>
    ) {
        self =
            switch verdict {
            case .proveAgain where retries.contains(.proof): .passThrough(.proofRefused)
            case .proveAgain(let credential): .attempt(because: .proof, with: credential)
            case .signAgain where retries.contains(.clockSkew): .passThrough(.alreadyReplayed)
            case .signAgain: .attempt(because: .clockSkew, with: nil)
            case _ where intent == .afterReplay: .passThrough(.alreadyReplayed)
            case .replay: .attempt(because: .unauthorized, with: nil)
            case .replayOnce(let credential): .attempt(because: .unauthorized, with: credential)
            case .passThrough(let reason): .passThrough(reason)
            }
        if case .attempt = self, case .report(let reason) = intent { self = .passThrough(reason) }
    }
}
