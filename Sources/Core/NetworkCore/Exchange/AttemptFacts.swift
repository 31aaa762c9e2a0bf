/// The result of an attempt that was followed by another one.
public struct AttemptFacts: Sendable {
    /// The destination, if it differs from that of the request.
    public var destination: RequestContext.Destination?
    /// The address and port of its connection, if it had one.
    public var upstreamAddress: String?
    /// Whether the attempt used a pooled connection.
    public var isConnectionReused: Bool
    /// The durations of its phases.
    public var timings: Timings
    /// The status of its response, if one arrived.
    public var status: HTTPStatus?
    /// The number of its token in the grant family, if it had one.
    public var generation: Int?
    /// The name of its identity.
    package var identity: String?
    /// The reason for the next attempt.
    public var reason: RetryReason
}

extension RequestContext {
    /// Moves the facts of the last attempt to `earlierAttempts`, because another attempt follows.
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

    /// Undoes `beginNextAttempt`, because the attempt was not made for lack of a credential.
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
