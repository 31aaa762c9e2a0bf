public import NetworkCore

/// The stored tokens of one grant family.
public struct TokenRecord: Sendable, Equatable {
    /// A stored access token; it expires at a time of day, so that a restart does not extend it.
    public struct AccessToken: Sendable, Equatable {
        /// The token.
        public var value: Secret
        /// The time of its request.
        public var issuedAt: UnixTime
        /// The time of its expiry; `nil` if the server named none.
        public var expiresAt: UnixTime?
        /// The time at which the server wants it renewed (`refresh_in`); `nil` if it named none.
        public var refreshAt: UnixTime?
        /// The scope granted.
        public var scope: String?
        /// The scheme it is presented with.
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

    /// Recorded before a refresh token is presented: while it is stored, that token may be spent.
    public struct Intent: Sendable, Equatable {
        /// The fingerprint of the refresh token presented.
        public var fingerprint: String
        /// The time of the first presentation.
        public var startedAt: UnixTime
        /// The number of presentations.
        public var attempts: Int

        /// Describes an intent.
        public init(fingerprint: String, startedAt: UnixTime, attempts: Int) {
            self.fingerprint = fingerprint
            self.startedAt = startedAt
            self.attempts = attempts
        }
    }

    /// A refresh token that the server rejected as invalid: kept, but not used.
    public struct Quarantine: Sendable, Equatable {
        /// The fingerprint of that refresh token.
        public var fingerprint: String
        /// The reason, for the user.
        public var reason: String
        /// The time of the rejection.
        public var since: UnixTime

        /// Describes a quarantine.
        public init(fingerprint: String, reason: String, since: UnixTime) {
            self.fingerprint = fingerprint
            self.reason = reason
            self.since = since
        }
    }

    /// Incremented by every save, and compared by the next one.
    public var revision = 0
    /// The sign-in that the tokens descend from; `nil` in a record of an earlier version.
    ///
    /// Revisions are comparable within one.
    public var session: String?
    /// The time of a sign-out; the record then has no tokens.
    ///
    /// A missing record is not a sign-out.
    public var signedOutAt: UnixTime?
    /// The client and the token endpoint that the tokens belong to.
    public var authority: String
    /// The refresh token of the family.
    public var refreshToken: Secret?
    /// The expiry, if the server named one; the token is presented nevertheless.
    public var refreshExpiresAt: UnixTime?
    /// The fingerprint of the configured refresh token that started the family.
    public var seed: String?
    /// Whether the server rotates refresh tokens; `nil` while unknown.
    public var rotates: Bool?
    /// Access tokens by credential key (scopes, audience, resources, parameters).
    public var accessTokens: [String: AccessToken] = [:]
    /// A presentation whose outcome is unknown.
    public var intent: Intent?
    /// A rejected refresh token.
    public var quarantine: Quarantine?
    /// The time of the write by the writer's clock, if machines share a store.
    package var savedAt: UnixTime?
    /// The authorization server trusted at the sign-in, if it was found by the resource's URL.
    package var pinned: PinnedServer?

    /// An empty record.
    public init(authority: String) {
        self.authority = authority
    }

    /// The record with all times of day moved by a duration, for a clock that is ahead by it.
    package func moved(by offset: Duration) -> TokenRecord {
        guard offset != .zero else { return self }
        var record = self
        record.savedAt = savedAt.map { $0 + offset }
        record.signedOutAt = signedOutAt.map { $0 + offset }
        record.refreshExpiresAt = refreshExpiresAt.map { $0 + offset }
        record.accessTokens = accessTokens.mapValues { token in
            var token = token
            token.issuedAt = token.issuedAt + offset
            token.expiresAt = token.expiresAt.map { $0 + offset }
            token.refreshAt = token.refreshAt.map { $0 + offset }
            return token
        }
        if let intent { record.intent?.startedAt = intent.startedAt + offset }
        if let quarantine { record.quarantine?.since = quarantine.since + offset }
        return record
    }

    /// The name of a session where revisions are kept; records of an earlier version share one.
    package static func name(ofSession session: String?) -> String { session ?? "none" }

    /// Whether a user has signed out.
    package var isSignedOut: Bool { signedOutAt != nil }

    /// Returns the record that replaces this one at a sign-out.
    ///
    /// A configured refresh token that the server has replaced stays noted, so that it is not presented
    /// again (RFC 9700 §4.14.2).
    package func signedOut(at time: UnixTime) -> TokenRecord {
        var record = TokenRecord(authority: authority)
        record.revision = revision + 1
        record.session = session
        record.signedOutAt = time
        if refreshToken.map(TokenRecord.fingerprint) != seed { record.seed = seed }
        return record
    }

    /// Decrypts and decodes a record.
    ///
    /// - Parameters:
    ///   - sealed: the result of ``sealed(for:by:)``.
    ///   - name: the name that it was sealed for.
    ///   - seal: the keys.
    /// - Throws: `TokenSealError`; the stored bytes must then stay unchanged.
    package init(sealed: [UInt8], for name: String, by seal: TokenSeal) throws(TokenSealError) {
        let plain = try TokenSeal.open(sealed, family: name, with: seal)
        guard plain != sealed else { throw .notSealed }
        guard let record = TokenFile.decode(plain) else { throw .unknownFormat }
        self = record
    }

    /// Encodes and encrypts the record for a place, such as a key of a database.
    ///
    /// - Throws: the error of the JSON encoder; not expected.
    package func sealed(for name: String, by seal: TokenSeal) throws -> [UInt8] {
        try seal.seal(TokenFile.encode(self), family: name)
    }

    /// Returns a hash that identifies a token within a record (FNV-1a, 64 bit).
    ///
    /// The record holds the tokens themselves, so the hash need not withstand guessing.
    package static func fingerprint(_ secret: Secret) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in secret.reveal().utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return String(hash, radix: 16)
    }
}

extension OAuthConfiguration {
    /// Whether a record descends from the configured refresh token, if one is configured: tokens of another
    /// one may belong to another user.
    package func isOfConfiguredSeed(_ record: TokenRecord) -> Bool {
        guard case .refreshToken(let seed?) = grant else { return true }
        return record.seed == TokenRecord.fingerprint(seed)
    }
}
