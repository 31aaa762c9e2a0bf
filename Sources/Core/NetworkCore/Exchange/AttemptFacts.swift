/// The result of an attempt that was followed by another one.
public struct AttemptFacts: Sendable {
    /// The destination, if it differs from that of the request.
    public var destination: RequestContext.Destination?
    /// Address and port of its connection, if it got one.
    public var upstreamAddress: String?
    /// Whether a pooled connection served it.
    public var isConnectionReused: Bool
    /// The durations of its phases.
    public var timings: Timings
    /// The status it got, if any.
    public var status: HTTPStatus?
    /// The number of its token in the grant family, if it has one.
    public var generation: Int?
    /// The name of its account.
    package var identity: String?
    /// The reason for the next attempt.
    public var reason: RetryReason
}

extension RequestContext {
    /// Moves the facts of the last attempt to the earlier ones, because another attempt follows.
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
