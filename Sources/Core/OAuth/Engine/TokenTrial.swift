import NetworkCore

/// A new token that one request tries before the other waiting requests.
///
/// After a storm of 401s, another refused token would cause a second storm.
struct TokenTrial: Equatable {
    /// Up to this many waiters proceed together, without a trial.
    static let threshold = 8
    /// The maximum wait of the others for the result of the first request.
    static let timeout = Duration.seconds(2)

    /// The token on trial.
    let generation: Int
    let credential: Credential
    /// Whether no request has the token yet: a released replay reads it when it is sent.
    private(set) var isOffered = true

    init(_ generation: Int, _ credential: Credential) {
        self.generation = generation
        self.credential = credential
    }

    /// Notes that a request has the token.
    mutating func take() { isOffered = false }

    /// The result of a request with the token.
    enum Finding {
        case accepted
        case refused
        /// The request has not ended, or its response says nothing about the token.
        case inconclusive
    }
}
