public import NetworkCore

/// Something that happened to the tokens of a manager.
///
/// No event holds a secret.
public enum OAuthEvent: Sendable {
    /// Why a token was asked for.
    public enum Reason: String, Sendable {
        /// There was none.
        case initial
        /// The one at hand had ended, or was about to.
        case expired
        /// The one at hand was in its last part; nobody waited.
        case early
        /// The upstream refused it.
        case unauthorized
        /// A person asked for it.
        case forced
        /// Another process stored something.
        case external
        /// A person signed in.
        case signIn = "sign_in"
        /// A renewal before the last stop had no known outcome.
        case recovery
    }

    /// A new token came from the token endpoint.
    case refreshed(generation: Int, reason: Reason, duration: Duration)
    /// A token that is still good was found in the store: kept there, or renewed by another process.
    case adopted(generation: Int)
    /// The token endpoint failed; the back-off ends at the time given.
    case failed(OAuthFailure)
    /// A person must sign in again.
    case dead(OAuthFailure)
    /// The tokens of this generation are durable.
    case stored(generation: Int)
    /// The store refused; tokens are kept in memory, and writing is tried again.
    case storeFailed(detail: String)
    /// The tokens were forgotten on request.
    case forgotten
}

/// A failed attempt to get a token, as it is told to people.
public struct OAuthFailure: Sendable, Hashable {
    /// `invalid_grant`, `configuration`, `transient`, `lost` or `excess`.
    public var kind: String
    /// One clause a person can act on, without secrets.
    public var detail: String
    /// The server's own `error` word (RFC 6749 §5.2).
    public var serverError: String?
    /// When it happened.
    public var at: UnixTime
    /// When the token endpoint is asked again at the earliest; nothing if only a person can help.
    public var nextAttempt: UnixTime?

    /// Describes a failure.
    public init(
        kind: String,
        detail: String,
        serverError: String? = nil,
        at: UnixTime,
        nextAttempt: UnixTime? = nil
    ) {
        self.kind = kind
        self.detail = detail
        self.serverError = serverError
        self.at = at
        self.nextAttempt = nextAttempt
    }
}

/// What an OAuth manager is doing, for `status` and people; no secrets.
public struct OAuthStatus: Sendable, Hashable {
    /// The states of a credential.
    public enum State: String, Sendable {
        /// There was no token yet.
        case empty
        /// The token is good.
        case fresh
        /// The token is good and about to be renewed.
        case stale
        /// The token has ended, or is about to: requests wait for the next one.
        case expired
        /// A token request is under way.
        case refreshing
        /// There is no token, and the token endpoint is left alone for a while.
        case failed
        /// A person must sign in again.
        case dead
    }

    /// The state of the credential.
    public var state: State
    /// Which token it is; 0 before the first.
    public var generation: Int
    /// How old the token is.
    public var age: Duration?
    /// How long it still lives; nothing if that is unknown.
    public var expiresIn: Duration?
    /// What it is good for, as granted.
    public var scope: String?
    /// Whether there is a refresh token.
    public var hasRefreshToken = false
    /// How long that still lives; nothing if the server did not say.
    public var refreshExpiresIn: Duration?
    /// Whether the last token is not in the store, because writing failed.
    public var isUnsaved = false
    /// How many requests wait.
    public var waiters = 0
    /// What went wrong last, until a token comes.
    public var lastFailure: OAuthFailure?
    /// In how long the token endpoint is asked again at the earliest, after a failure.
    public var nextAttempt: Duration?
    /// How far the authorization server's clock is ahead of ours; nothing while they agree.
    public var clockOffset: Duration?

    /// Describes a manager of which nothing else is known.
    public init(state: State, generation: Int = 0) {
        self.state = state
        self.generation = generation
    }
}
