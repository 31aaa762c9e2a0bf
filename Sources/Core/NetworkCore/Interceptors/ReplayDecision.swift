/// The decision after a 401.
///
/// An exchange tries a new token and a new proof of possession once each, in any order. A token that may be
/// older
/// than the first 401 does not count.
///
/// | renewed before | `replay`, `replayOnce` | `proveAgain` | `passThrough` |
/// |---|---|---|---|
/// | neither | attempt | attempt | its reason |
/// | the token | `already_replayed` | attempt | `already_replayed` |
/// | the proof | attempt | `proof_refused` | its reason |
/// | both | `already_replayed` | `proof_refused` | `already_replayed` |
///
/// A signature whose time was refused is also made again once (`signAgain`). If the request cannot be
/// replayed,
/// the reason for that replaces an attempt.
enum ReplayDecision {
    /// Send the request once more, authorized with this credential if there is one.
    case attempt(because: RetryReason, with: Credential?)
    /// Return the 401 to the caller, for this reason.
    case passThrough(NotReplayed)

    /// Decides on the next step.
    ///
    /// - Parameters:
    ///   - verdict: the authorizer's verdict on the 401.
    ///   - intent: the intent that the authorizer received.
    ///   - retries: the reasons for the earlier retries.
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
