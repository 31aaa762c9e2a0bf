/// A 401, or another answer that means the same, to an attempt that carried a credential.
public struct Rejection: Sendable {
    /// The next step of the caller.
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
    /// The beginning of the content, where it was at hand: an API may say there what is wrong.
    public var content: ByteSlice?
    /// The next step of the caller.
    public var intent: Intent
    /// The deadline of the exchange.
    public var deadline: ContinuousClock.Instant?

    /// Describes a 401.
    public init(
        generation: Int?,
        headers: HTTPHeaders,
        content: ByteSlice? = nil,
        intent: Intent,
        deadline: ContinuousClock.Instant? = nil
    ) {
        self.generation = generation
        self.headers = headers
        self.content = content
        self.intent = intent
        self.deadline = deadline
    }
}

/// The decision of an authorizer after a 401.
public enum Verdict: Sendable, Hashable {
    /// Send the request again: there is another credential now.
    case replay
    /// Send the request again with this credential: it serves the replay alone, and is not given to
    /// other requests.
    case replayOnce(Credential)
    /// Send the request again with another proof of possession: the token was not judged. With this
    /// credential, if it is one that is not given to other requests.
    case proveAgain(Credential?)
    /// Send the request again, signed with the server's time of day: the key was not judged.
    case signAgain
    /// Give the app the 401 as it is, and why.
    case passThrough(NotReplayed)
}
