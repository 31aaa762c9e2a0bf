import NetworkCore

/// A new token that one request tries before all the others that wait for it.
///
/// After a storm of 401s, a fresh token that is refused as well would cause a second storm.
struct TokenTrial: Equatable {
    /// Up to this many waiters go at once: they are no storm.
    static let threshold = 8
    /// How long the others wait for the result of the first request.
    static let timeout = Duration.seconds(2)

    /// The token on trial.
    let generation: Int
    let credential: Credential
    /// Whether no request has the token yet: a replay that is released comes back for it.
    private(set) var isOffered = true

    init(_ generation: Int, _ credential: Credential) {
        self.generation = generation
        self.credential = credential
    }

    /// Notes that a request has the token.
    mutating func take() { isOffered = false }

    /// What a request with the token found.
    enum Finding {
        case accepted
        case refused
        /// It has not come back, or its answer says nothing about the token.
        case inconclusive
    }
}
