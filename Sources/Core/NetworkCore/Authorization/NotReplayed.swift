/// The reason why a 401 was returned to the client; the raw value is the word in the log.
@nonexhaustive
public enum NotReplayed: String, Sendable, Hashable {
    /// The credential is never renewed.
    case staticCredential = "static_credential"
    /// `insufficient_scope` (RFC 6750 §3.1): another token with the same scopes would not help.
    case insufficientScope = "insufficient_scope"
    /// `invalid_request` (RFC 6750 §3.1): the request is at fault.
    case invalidRequest = "invalid_request"
    /// `insufficient_user_authentication` (RFC 9470): a person must sign in with more proof.
    case stepUpRequired = "step_up_required"
    /// The server refused the time of a signature, although its clock agrees with ours.
    case clockAgrees = "clock_agrees"
    /// The server refused a second proof of possession as well.
    case proofRefused = "proof_refused"
    /// The body was not kept, or did not arrive completely.
    case bodyNotReplayable = "body_not_replayable"
    /// The channel replays no requests; the credential was renewed if that could help.
    case replayOff = "replay_off"
    /// The replay got a 401 as well.
    case alreadyReplayed = "already_replayed"
    /// A new token was refused as well, so renewals pause.
    case tokenRefusedAgain = "token_refused_again"
    /// The token endpoint returned the refused token again.
    case sameToken = "same_token"
    /// There were too many renewals within a short time.
    case excess = "excess"
    /// The renewal failed, or renewals pause after a failure.
    case refreshFailed = "refresh_failed"
    /// A person must sign in again.
    case reauthorizationRequired = "reauthorization_required"
    /// The exchange could not wait any longer, or too many others are already waiting.
    case waitTimeout = "wait_timeout"
}
