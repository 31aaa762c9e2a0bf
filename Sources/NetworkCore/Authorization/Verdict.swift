/// A 401 to an attempt that carried a credential.
public struct Rejection: Sendable {
    /// What the caller is going to do.
    public enum Intent: Sendable, Hashable {
        /// Send the request again, if there is a better credential.
        case replay
        /// Nothing, for this reason. The credential is renewed if that may help.
        case report(NotReplayed)
        /// Nothing: this was the replay.
        case afterReplay
    }

    /// The generation of the credential that was refused.
    public var generation: Int?
    /// The field section of the response.
    public var headers: HTTPHeaders
    /// What happens next.
    public var intent: Intent
    /// When the exchange must be over.
    public var deadline: ContinuousClock.Instant?

    /// Describes a 401.
    public init(
        generation: Int?,
        headers: HTTPHeaders,
        intent: Intent,
        deadline: ContinuousClock.Instant? = nil
    ) {
        self.generation = generation
        self.headers = headers
        self.intent = intent
        self.deadline = deadline
    }
}

/// What to do with a 401.
public enum Verdict: Sendable, Hashable {
    /// Send the request again: there is another credential now.
    case replay
    /// Send the request again with this credential: it serves the replay alone, and is not given to
    /// other requests.
    case replayOnce(Credential)
    /// Send the request again with another proof of possession: the token was not judged. With this
    /// credential, if it is one that is not given to other requests.
    case proveAgain(Credential?)
    /// Give the app the 401 as it is, and why.
    case passThrough(NotReplayed)
}
