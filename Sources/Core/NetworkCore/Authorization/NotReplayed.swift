/// The reason why a 401 was returned to the app; the raw value is the word in the log.
@nonexhaustive
public enum NotReplayed: String, Sendable, Hashable {
    /// The credential is one that is never renewed.
    case staticCredential = "static_credential"
    /// `insufficient_scope` (RFC 6750 §3.1): another token of the same kind would not help.
    case insufficientScope = "insufficient_scope"
    /// `invalid_request` (RFC 6750 §3.1): the request is at fault.
    case invalidRequest = "invalid_request"
    /// `insufficient_user_authentication` (RFC 9470): a person must sign in with more proof.
    case stepUpRequired = "step_up_required"
    /// The time of a signature was refused by a server whose clock agrees with ours.
    case clockAgrees = "clock_agrees"
    /// Another proof of possession was refused as well.
    case proofRefused = "proof_refused"
    /// The body was not kept, or not all of it arrived.
    case bodyNotReplayable = "body_not_replayable"
    /// The channel replays nothing; the credential was renewed if that could help.
    case replayOff = "replay_off"
    /// The replay got a 401, too.
    case alreadyReplayed = "already_replayed"
    /// A new token was refused as well, so renewals pause.
    case tokenRefusedAgain = "token_refused_again"
    /// The token endpoint returned the refused token again.
    case sameToken = "same_token"
    /// Too many renewals within a short time.
    case excess = "excess"
    /// The renewal failed, or renewals pause after a failure.
    case refreshFailed = "refresh_failed"
    /// A person must sign in again.
    case reauthorizationRequired = "reauthorization_required"
    /// The exchange could not wait any longer, or too many wait already.
    case waitTimeout = "wait_timeout"
}
