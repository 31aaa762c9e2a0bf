import NetproxyHTTP1

/// The state machine of a connection from a client: the allowed events and their effects.
///
/// A value without I/O: `DownstreamConnection` reports events and performs the actions.
///
/// | phase      | task | `drain()`  | `cut()`    | interim response | left by                        |
/// |------------|------|------------|------------|------------------|--------------------------------|
/// | parked     | no   | cancelRead | abort      | no               | bytes, a deadline, drain, cut  |
/// | resting    | no   | cancelRead | abort      | no               | the same as parked             |
/// | waiting    | yes  | cancelRead | abort      | no               | a request's first bytes        |
/// | receiving  | yes  | none       | cancelRead | may begin        | the response                   |
/// | interim    | yes  | none       | abort      | is being written | the end of that response       |
/// | responding | yes  | none       | abort      | no               | the next request, or the close |
/// | closed     | –    | none       | none       | no               | never                          |
///
/// `shutdown` changes only from `none` to `draining` to `cut`, in any phase.
///
/// A drain does not end waiting connections at once. The client has seen its connection accepted or kept,
/// and many clients do not repeat a request without a response. A connection keeps some time for one more
/// request, whose response closes it.
package struct DownstreamState {
    /// The time for which a connection may stay open without a request, like nginx's 75 s.
    static let keepAlive: UInt64 = 75_000_000_000
    /// The announced keep-alive time in seconds; shorter, so that a request sent at the last moment
    /// arrives before our close.
    static let announcedKeepAlive = 70

    /// The time after a request in which another is likely; until then the connection is not closed to
    /// make room.
    static let busyTime: UInt64 = 5_000_000_000

    /// A phase of the connection.
    package enum Phase: CaseIterable {
        /// The task waits for a request.
        case waiting
        /// The loop watches the connection; its task has ended because it had nothing to do.
        case parked
        /// Parked, and the client has sent no request for some time.
        case resting
        /// A request is being read, or its response is pending.
        case receiving
        /// A 1xx response is being written.
        case interim
        /// The final response has begun.
        case responding
        /// The socket is closed.
        case closed
    }

    /// A stage of the connection's shutdown.
    package enum Shutdown: CaseIterable {
        case none
        /// The connection ends as soon as it has no exchange.
        case draining
        /// The connection must end, even during an exchange.
        case cut
    }

    /// The action on the socket when the connection should end.
    enum EndAction: Equatable {
        case none
        /// Wake the reading task, so that it checks the state again.
        case cancelRead
        case abort
    }

    /// The action before the next request.
    enum WaitAction: Equatable {
        /// End the connection, or leave it to the loop if it is parked now.
        case leave
        /// Wait for the first byte of a request.
        case wait(until: UInt64)
        /// Park the connection if nothing more has arrived, else wait.
        case parkIfQuiet(elseWaitUntil: UInt64)
        /// Read the bytes that have arrived, or end the connection if there are none.
        case takeArrived
    }

    package private(set) var phase = Phase.waiting
    private(set) var shutdown = Shutdown.none
    /// Whether another request may follow the begun response.
    private(set) var persists = false
    /// The number of requests so far.
    private var served = 0
    /// Whether the connection has had no request yet.
    var isUnused: Bool { served == 0 }
    /// The time at which the connection was accepted, if it began parked.
    private var opened: UInt64?
    /// The time until which the connection may stay open without a request.
    package private(set) var idleDeadline = UInt64.max
    /// The time until which a draining connection may send one more request.
    private var graceEnd: UInt64 = 0
    /// The deadline for the incomplete head, counted from its first byte.
    private var headDeadline: UInt64?
    /// The time for which the task waits for a request before it parks the connection; `nil` if it never
    /// does.
    private let parkDelay: UInt64?
    /// The time for which the connection may stay open without a request.
    private let keepAlive: UInt64

    init(parkDelay: UInt64? = nil, keepAlive: UInt64 = DownstreamState.keepAlive) {
        self.parkDelay = parkDelay
        self.keepAlive = keepAlive
    }

    /// Whether the connection has no task, or is about to have none.
    package var isParked: Bool { phase == .parked || phase == .resting }

    // MARK: - Between requests

    /// Parks a new connection, with a shorter deadline than after a request.
    mutating func beginParked(timeout: UInt64, now: UInt64) {
        idleDeadline = now &+ timeout
        opened = now
        phase = .parked
    }

    /// Returns the deadline of a connection that can be closed to make room.
    ///
    /// The connection with the earliest deadline is closed first.
    ///
    /// - Returns: the deadline; `nil` while the connection has a request, or shortly after one.
    func deadlineToSpare(now: UInt64) -> UInt64? {
        guard shutdown == .none else { return nil }
        switch phase {
        case .waiting, .parked, .resting:
            let isFresh = served > 0 && now &+ keepAlive &- DownstreamState.busyTime < idleDeadline
            return isFresh ? nil : idleDeadline
        case .receiving: return headDeadline
        case .interim, .responding, .closed: return nil
        }
    }

    /// Wakes the connection because it has something to do.
    ///
    /// - Returns: whether it was resting.
    mutating func wake() -> Bool {
        defer { phase = .parked }
        return phase == .resting
    }

    /// Decides how to wait for the next request.
    ///
    /// Many clients send one request and keep the connection. After the first request, a quiet connection
    /// is therefore parked at once, so that the next one reuses the memory of its task.
    mutating func awaitRequest(now: UInt64) -> WaitAction {
        let wasParked = isParked
        phase = .waiting
        switch shutdown {
        case .none: break
        case .draining: return now < graceEnd ? .wait(until: graceEnd) : .takeArrived
        case .cut: return .leave
        }
        // A parked connection has waited already.
        if !wasParked { idleDeadline = now &+ keepAlive }
        guard let parkDelay else { return .wait(until: idleDeadline) }
        let deadline = min(idleDeadline, now &+ parkDelay)
        guard served <= 1, now < idleDeadline else { return .wait(until: deadline) }
        return .parkIfQuiet(elseWaitUntil: deadline)
    }

    /// Parks a connection on which nothing has arrived.
    mutating func park() { phase = .parked }

    /// Ends a wait in which no request arrived: the connection rests unless its last deadline has passed.
    ///
    /// - Returns: whether the connection is parked now.
    mutating func requestWaitTimedOut(at deadline: UInt64) -> Bool {
        guard deadline < idleDeadline, shutdown == .none else { return false }
        phase = .resting
        return true
    }

    // MARK: - A request

    /// Begins to read a request, whose bytes have arrived or may follow.
    mutating func beginReceiving() {
        phase = .receiving
        headDeadline = nil
    }

    /// Waits for the first byte of a head; an empty line after the content of a request does not begin
    /// one.
    ///
    /// - Returns: the deadline; `nil` if no request is accepted.
    mutating func awaitHead(now: UInt64) -> UInt64? {
        switch shutdown {
        case .none:
            phase = .waiting
            return served == 0 ? min(idleDeadline, now &+ keepAlive) : now &+ keepAlive
        case .draining where now < graceEnd:
            phase = .waiting
            return graceEnd
        case .draining, .cut: return nil
        }
    }

    /// Waits for the rest of an incomplete head.
    ///
    /// - Returns: the deadline for the rest.
    mutating func awaitHeadEnd(timeout: UInt64, now: UInt64) -> UInt64 {
        let deadline = headDeadline ?? now &+ timeout
        headDeadline = deadline
        return deadline
    }

    /// Continues to read a head.
    mutating func resumeReceiving() { phase = .receiving }

    /// Records a complete head.
    mutating func requestArrived() {
        served += 1
        headDeadline = nil
    }

    // MARK: - Responses

    /// Begins a 1xx response.
    ///
    /// - Returns: `false` if the final response came first.
    mutating func beginInterim() -> Bool {
        guard phase == .receiving else { return false }
        phase = .interim
        return true
    }

    mutating func endInterim() {
        if phase == .interim { phase = .receiving }
    }

    /// Begins the final response.
    ///
    /// - Parameter persistence: the persistence that the messages permit.
    mutating func beginResponse(_ persistence: Persistence) {
        phase = .responding
        persists = persistence == .keepAlive && shutdown == .none
    }

    // MARK: - The end

    /// The bounds of the time for another request of a draining connection: at least the first value after
    /// the drain began, at most the second after the connection was accepted.
    ///
    /// HAProxy (`idle-close-on-response`) keeps idle connections until their next request.
    static let grace: ClosedRange<UInt64> = 1_000_000_000...5_000_000_000

    /// Ends the connection after its exchange, or after one more request.
    ///
    /// The first request may take `timeout` nanoseconds since the connection was accepted, within
    /// ``grace``: a client that has just connected is about to send a request, but one that connected long
    /// ago probably is not. A kept connection has the shortest time.
    mutating func drain(now: UInt64, firstRequestWithin timeout: UInt64) -> EndAction {
        guard shutdown == .none else { return .none }
        shutdown = .draining
        let grace = DownstreamState.grace
        graceEnd = now &+ grace.lowerBound
        guard phase == .waiting || isParked else { return .none }
        if served == 0 {
            graceEnd = max((opened ?? now) &+ min(timeout, grace.upperBound), graceEnd)
        }
        return .cancelRead
    }

    /// Ends the connection even during an exchange; a response that has not begun contains the reason.
    mutating func cut() -> EndAction {
        shutdown = .cut
        return switch phase {
        case .receiving: .cancelRead
        case .closed: .none
        default: .abort
        }
    }

    mutating func close() { phase = .closed }

    /// The time for which remaining bytes from the client are read before the close, like nginx's
    /// `lingering_time`; shorter during a shutdown.
    var lingerTime: UInt64 { shutdown == .none ? 30_000_000_000 : 1_000_000_000 }
}

/// Whether a message permits another one on the connection.
package enum Persistence {
    case keepAlive
    case close
}

extension RequestHead {
    /// The persistence that the client requests.
    package var persistence: Persistence { keepAlive ? .keepAlive : .close }
}
