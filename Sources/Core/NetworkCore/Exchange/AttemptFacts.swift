/// The result of an attempt that was followed by another one.
public struct AttemptFacts: Sendable {
    /// Where it went, if not where the request says.
    public var destination: RequestContext.Destination?
    /// Address and port of its connection, if it got one.
    public var upstreamAddress: String?
    /// Whether a pooled connection served it.
    public var isConnectionReused: Bool
    /// How long its phases took.
    public var timings: Timings
    /// The status it got, if any.
    public var status: HTTPStatus?
    /// Which token it carried, if it is one of a family.
    public var generation: Int?
    /// Which of several accounts it was made with.
    package var identity: String?
    /// Why another one followed.
    public var reason: RetryReason
}

extension RequestContext {
    /// Sets aside what is known of the last attempt, because another one follows.
    public mutating func beginNextAttempt(because reason: RetryReason) {
        earlierAttempts.append(
            AttemptFacts(
                destination: destination,
                upstreamAddress: upstreamAddress,
                isConnectionReused: isConnectionReused,
                timings: timings,
                status: upstreamStatus,
                generation: authorization?.generation,
                identity: authorization?.identity,
                reason: reason
            )
        )
        retries.append(reason)
        timings = Timings()
        destination = nil
        upstreamAddress = nil
        isConnectionReused = false
        upstreamStatus = nil
    }

    /// Undoes `beginNextAttempt`: the attempt was not made, since there was no credential.
    mutating func withdrawAttempt() {
        guard let last = earlierAttempts.popLast() else { return }
        retries.removeLast()
        timings = last.timings
        destination = last.destination
        upstreamAddress = last.upstreamAddress
        isConnectionReused = last.isConnectionReused
        upstreamStatus = last.status
        authorization?.generation = last.generation
        authorization?.identity = last.identity
    }
}
