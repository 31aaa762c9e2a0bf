public import NetworkCore

/// What is stored of one grant family.
public struct TokenRecord: Sendable, Equatable {
    /// An access token at rest; its end is a time of day, never "in so many seconds".
    public struct AccessToken: Sendable, Equatable {
        /// The token.
        public var value: Secret
        /// When it was asked for.
        public var issuedAt: UnixTime
        /// When it ends; nothing if the server did not say.
        public var expiresAt: UnixTime?
        /// When the server wants it renewed (`refresh_in`); nothing if it did not say.
        public var refreshAt: UnixTime?
        /// What was granted.
        public var scope: String?
        /// The scheme that it is presented with.
        public var scheme: String

        /// Describes a token.
        public init(
            value: Secret,
            issuedAt: UnixTime,
            expiresAt: UnixTime?,
            refreshAt: UnixTime? = nil,
            scope: String?,
            scheme: String = "Bearer"
        ) {
            self.value = value
            self.issuedAt = issuedAt
            self.expiresAt = expiresAt
            self.refreshAt = refreshAt
            self.scope = scope
            self.scheme = scheme
        }
    }

    /// Written before a refresh token is presented: while it stands, that token may be spent.
    public struct Intent: Sendable, Equatable {
        /// The fingerprint of the refresh token presented.
        public var fingerprint: String
        /// When it was first presented.
        public var startedAt: UnixTime
        /// How many times it was presented.
        public var attempts: Int

        /// Describes an intent.
        public init(fingerprint: String, startedAt: UnixTime, attempts: Int) {
            self.fingerprint = fingerprint
            self.startedAt = startedAt
            self.attempts = attempts
        }
    }

    /// A refresh token that the server called invalid: kept, not used.
    public struct Quarantine: Sendable, Equatable {
        /// The fingerprint of that refresh token.
        public var fingerprint: String
        /// Why, for a person.
        public var reason: String
        /// Since when.
        public var since: UnixTime

        /// Describes a quarantine.
        public init(fingerprint: String, reason: String, since: UnixTime) {
            self.fingerprint = fingerprint
            self.reason = reason
            self.since = since
        }
    }

    /// Counts up with every save; what compare-and-swap compares.
    public var revision = 0
    /// Client and token endpoint the tokens belong to; they are presented to no other.
    public var authority: String
    /// The refresh token of the family.
    public var refreshToken: Secret?
    /// When that ends, where the server said so; it is presented all the same.
    public var refreshExpiresAt: UnixTime?
    /// The fingerprint of the configured refresh token that started the family.
    public var seed: String?
    /// Whether the server gives a new refresh token each time; nothing while that is unknown.
    public var rotates: Bool?
    /// Access tokens by credential key (scopes, audience, resources, parameters).
    public var accessTokens: [String: AccessToken] = [:]
    /// A presentation whose outcome is not known.
    public var intent: Intent?
    /// A refresh token that is dead.
    public var quarantine: Quarantine?

    /// An empty record.
    public init(authority: String) {
        self.authority = authority
    }

    /// Recognises a token without repeating it, inside the store only (FNV-1a, 64 bit): the record
    /// that holds it also holds tokens, so it need not withstand guessing.
    package static func fingerprint(_ secret: Secret) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in secret.reveal().utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return String(hash, radix: 16)
    }
}
