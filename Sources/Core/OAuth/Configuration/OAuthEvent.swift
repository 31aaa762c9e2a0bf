public import NetworkCore

/// An event in the life of a manager's tokens.
///
/// No event contains a secret.
@nonexhaustive
public enum OAuthEvent: Sendable {
    /// The reason for a token request.
    @nonexhaustive
    public enum Reason: String, Sendable {
        /// There was none.
        case initial
        /// The current one had expired, or was about to.
        case expired
        /// The current one was renewed in the background, before it expired.
        case early
        /// The upstream refused it.
        case unauthorized
        /// An operator requested it.
        case forced
        /// Another process stored tokens.
        case external
        /// A user signed in.
        case signIn = "sign_in"
        /// A renewal before the last restart had no known outcome.
        case recovery
    }

    /// A new token came from the token endpoint.
    case refreshed(generation: Int, reason: Reason, duration: Duration)
    /// A valid token was found in the store: kept from before, or renewed by another process.
    case adopted(generation: Int)
    /// The token endpoint failed; the failure says when the back-off ends.
    case failed(OAuthFailure)
    /// The user must sign in again.
    case dead(OAuthFailure)
    /// The tokens of this generation were stored durably.
    case stored(generation: Int)
    /// The token store failed, or does not have what it should; tokens stay in memory, and storing is
    /// retried.
    case storeFailed(StoreFault, detail: String)
    /// The tokens were forgotten on request.
    case forgotten
    /// Another process has signed in at a server that this manager does not use, or as another client
    /// there. A manager for that sign-in can use its tokens. Reported each time the sign-in is found.
    case signedInElsewhere
    /// The token endpoint calls its tokens by another `token_type` than the scheme they are presented
    /// with; reported once for each type.
    case unusualType(String, scheme: String)
}

/// The kinds of faults of a token store, as metrics and logs name them.
@nonexhaustive
public enum StoreFault: String, Sendable, CaseIterable {
    /// The system refused an operation.
    case unavailable
    /// An operation has not ended in time.
    case unresponsive
    /// Another version, key or user wrote the content.
    case unreadable
    /// Another process holds the lock.
    case locked
    /// The content was corrupt and was set aside.
    case corrupt
    /// The tokens belong to another client or token endpoint.
    case foreign
    /// The store has an older copy of the tokens.
    case outdated
    /// The tokens have disappeared, and nobody has signed out.
    case lost
}

/// A failed attempt to get a token, for logs and status.
public struct OAuthFailure: Error, Sendable, Hashable {
    /// `invalid_grant`, `configuration`, `transient`, `lost` or `excess`.
    public var kind: String
    /// One clause that names the remedy, without secrets.
    public var detail: String
    /// The server's `error` code (RFC 6749 §5.2).
    public var serverError: String?
    /// The time of the failure.
    public var at: UnixTime
    /// The earliest time of the next attempt; `nil` if the user or the operator must act first.
    public var nextAttempt: UnixTime?
    /// The sign-in behind a credential that a user must renew.
    package var signIn = SignIn.ended

    /// The sign-in behind a credential.
    package enum SignIn: Sendable {
        /// There was none, or the user has signed out.
        case missing
        /// It exists, and its tokens cannot be renewed.
        case ended
    }

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

/// The status of an OAuth manager, without secrets.
public struct OAuthStatus: Sendable, Hashable {
    /// The states of a credential.
    @nonexhaustive
    public enum State: String, Sendable {
        /// There has been no token yet.
        case empty
        /// The token is valid.
        case fresh
        /// The token is valid and about to be renewed.
        case stale
        /// The token has expired, or is about to: requests wait for the next one.
        case expired
        /// A token request is under way.
        case refreshing
        /// No token is known, and the next attempt waits for the back-off.
        case failed
        /// The user must sign in again.
        case dead
    }

    /// The state of the credential.
    public var state: State
    /// The generation of the token; 0 before the first.
    public var generation: Int
    /// The age of the token.
    public var age: Duration?
    /// The time until it expires; `nil` if unknown.
    public var expiresIn: Duration?
    /// The scope granted.
    public var scope: String?
    /// Whether there is a refresh token.
    public var hasRefreshToken = false
    /// The time until the refresh token expires; `nil` if the server did not say.
    public var refreshExpiresIn: Duration?
    /// Whether the last token is not stored, because storing failed.
    public var isUnsaved = false
    /// The fault of the token store, until it serves again.
    public var storeFault: StoreFault?
    /// The number of requests waiting.
    public var waiters = 0
    /// The last failure, until a token is obtained.
    public var lastFailure: OAuthFailure?
    /// The time until the next attempt after a failure.
    public var nextAttempt: Duration?
    /// The time by which the authorization server's clock is ahead of ours; `nil` while they agree.
    public var clockOffset: Duration?

    /// Creates a status with only these facts.
    public init(state: State, generation: Int = 0) {
        self.state = state
        self.generation = generation
    }
}
