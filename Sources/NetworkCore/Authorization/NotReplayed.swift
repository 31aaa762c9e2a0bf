/// Why a 401 was not followed by a replay; the raw value is the word in the log.
public enum NotReplayed: String, Sendable, Hashable {
    /// The credential is one that is never renewed.
    case staticCredential = "static_credential"
    /// The challenge is for another scheme.
    case foreignChallenge = "foreign_challenge"
    /// `insufficient_scope` (RFC 6750 §3.1): another token of the same kind would not help.
    case insufficientScope = "insufficient_scope"
    /// `invalid_request` (RFC 6750 §3.1): the request is at fault.
    case invalidRequest = "invalid_request"
    /// `insufficient_user_authentication` (RFC 9470): a person must sign in with more proof.
    case stepUpRequired = "step_up_required"
    /// Another proof of possession was refused as well.
    case proofRefused = "proof_refused"
    /// The body was read and is too long to be kept.
    case bodyNotReplayable = "body_not_replayable"
    /// The channel replays nothing; the credential was renewed all the same.
    case replayOff = "replay_off"
    /// The exchange had its one replay.
    case alreadyReplayed = "already_replayed"
    /// The token was refused again right after it was renewed.
    case tokenRefusedAgain = "token_refused_again"
    /// The token endpoint gave the very same token.
    case sameToken = "same_token"
    /// Too many renewals within a short time.
    case excess = "excess"
    /// The token endpoint failed.
    case refreshFailed = "refresh_failed"
    /// A person must sign in again.
    case reauthorizationRequired = "reauthorization_required"
    /// The renewal took longer than the exchange may wait.
    case waitTimeout = "wait_timeout"
}
