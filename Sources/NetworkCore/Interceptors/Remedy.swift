/// What is done about a 401: a new token and a new proof of possession are each tried once in an
/// exchange, whichever is refused first.
///
/// | renewed before | `replay`, `replayOnce` | `proveAgain` | `passThrough` |
/// |---|---|---|---|
/// | nothing | attempt | attempt | its reason |
/// | the token | `already_replayed` | attempt | `already_replayed` |
/// | the proof | attempt | `proof_refused` | its reason |
/// | both | `already_replayed` | `proof_refused` | `already_replayed` |
///
/// Where nothing was to be sent again in the first place, the reason for that takes the place of an
/// attempt.
enum Remedy {
    /// Send the request once more, signed with this credential where there is one.
    case attempt(because: RetryReason, with: Credential?)
    /// Nothing: the app gets the 401, for this reason.
    case none(NotReplayed)

    /// Finds the remedy.
    ///
    /// - Parameters:
    ///   - verdict: what the authorizer says about the 401.
    ///   - intent: what the authorizer was told that would follow.
    ///   - retries: why the request was sent again before.
    init(_ verdict: Verdict, to intent: Rejection.Intent, behind retries: [RetryReason]) {
        self =
            switch verdict {
            case .proveAgain where retries.contains(.proof): .none(.proofRefused)
            case .proveAgain(let credential): .attempt(because: .proof, with: credential)
            case _ where retries.contains(.unauthorized): .none(.alreadyReplayed)
            case .replay: .attempt(because: .unauthorized, with: nil)
            case .replayOnce(let credential): .attempt(because: .unauthorized, with: credential)
            case .passThrough(let reason): .none(reason)
            }
        if case .attempt = self, case .report(let reason) = intent { self = .none(reason) }
    }
}
