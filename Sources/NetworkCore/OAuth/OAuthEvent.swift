/// Something that happened to the tokens of a channel; never a token.
public enum OAuthEvent: Sendable {
    /// Why a token was asked for.
    public enum Reason: String, Sendable {
        case initial, expired, early, unauthorized, forced
    }

    /// A new access token is in force.
    case refreshed(generation: Int, reason: Reason, duration: Duration)
    /// Another process renewed the token; it was adopted.
    case adopted(generation: Int)
    /// No token came; the words are the server's, and the next attempt is so far away.
    case failed(String, nextAttempt: Duration)
    /// A person must sign in again.
    case dead(String)
    /// The new token could not be stored: it is in force, but a restart will not know it.
    case storeFailed(String)
}

/// The state of a channel's token, for people.
public struct OAuthStatus: Sendable {
    /// `empty`, `fresh`, `stale`, `expired`, `refreshing`, `failed` or `dead`.
    public var state: String
    /// Which token of its family.
    public var generation: Int?
    /// How long ago it was issued.
    public var age: Duration?
    /// How long it still lives; below zero if it is over.
    public var expiresIn: Duration?
    /// What went wrong last, in the server's own words.
    public var lastError: String?
    /// When a token will be asked for again after a failure.
    public var nextAttempt: Duration?
}
