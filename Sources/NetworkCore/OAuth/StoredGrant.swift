/// What is kept of a grant family: the tokens, and what was going on when they were written.
public struct StoredGrant: Sendable, Codable, Equatable {
    /// Counts up each time the access token is replaced, in every process that shares the store.
    public var generation: Int
    /// The access token, if one was issued.
    public var accessToken: String?
    /// Seconds since 1970 when the access token was asked for.
    public var issuedAt: Double
    /// Seconds since 1970 when it expires; nothing where the server did not say.
    public var expiresAt: Double?
    /// The refresh token to present next.
    public var refreshToken: String?
    /// Tells whether the refresh token descends from the one in the configuration.
    public var seed: String?
    /// What was granted, if it differs from what was asked for.
    public var scope: String?
    /// When a request with the refresh token was begun whose answer has not been stored: the token
    /// may be spent.
    public var intentAt: Double?
    /// Why the refresh token is dead, in the server's words.
    public var deadBecause: String?

    /// A family that has nothing yet.
    public init(generation: Int = 0) {
        self.generation = generation
        issuedAt = 0
    }
}

extension StoredGrant: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The generation; never a token.
    public var description: String { "grant of generation \(generation)" }
    /// The generation; never a token.
    public var debugDescription: String { description }
    /// Without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
