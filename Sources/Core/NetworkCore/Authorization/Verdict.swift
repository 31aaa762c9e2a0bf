/// A 401, or another response with the same meaning, to an attempt with a credential.
public struct Rejection: Sendable {
    /// The caller's next step.
    public enum Intent: Sendable, Hashable {
        /// The caller will send the request again, if there is a better credential.
        case replay
        /// The caller will not replay, for this reason; the credential is renewed if that may help.
        case report(NotReplayed)
        /// The caller will not replay, because this was the replay.
        case afterReplay
    }

    /// The generation of the refused credential.
    public var generation: Int?
    /// The field section of the response.
    public var headers: HTTPHeaders
    /// The beginning of the content, if it had already arrived; an API may describe the error there.
    public var content: ByteSlice?
    /// The caller's next step.
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
    /// Send the request again, because there is another credential now.
    case replay
    /// Send the request again with this credential, which serves this replay only.
    case replayOnce(Credential)
    /// Send the request again with a new proof of possession, because the token was not evaluated.
    ///
    /// Use this credential, if it is one that other requests do not get.
    case proveAgain(Credential?)
    /// Send the request again, signed with the server's time of day, because the key was not evaluated.
    case signAgain
    /// Return the 401 unchanged, and record the reason.
    case passThrough(NotReplayed)
}
