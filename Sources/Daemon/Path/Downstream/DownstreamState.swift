import NetproxyHTTP1

/// The rules of a connection from an app: which event is allowed when, and what follows from it.
///
/// A value without I/O: `DownstreamConnection` reports events and performs the actions.
///
/// | phase      | task | `drain()`  | `cut()`    | interim response | left by                        |
/// |------------|------|------------|------------|------------------|--------------------------------|
/// | parked     | no   | cancelRead | abort      | no               | bytes, a deadline, drain, cut  |
/// | resting    | no   | cancelRead | abort      | no               | the same                       |
/// | waiting    | yes  | cancelRead | abort      | no               | a request's first bytes        |
/// | receiving  | yes  | none       | cancelRead | may begin        | the response                   |
/// | interim    | yes  | none       | abort      | is being written | the end of that response       |
/// | responding | yes  | none       | abort      | no               | the next request, or the close |
/// | closed     | –    | none       | none       | no               | never                          |
///
/// `shutdown` goes only from `none` to `draining` to `cut`; it may change in every phase.
///
/// A drain does not end every connection that waits. Its app has seen the connection accepted, and
/// many apps do not repeat a request that gets no answer: one that has not sent its first request yet
/// keeps some time for it, and one that has is looked at once more before it ends.
package struct DownstreamState {
    /// How long an app may keep a connection open without a request, like nginx's 75 s.
    static let keepAlive: UInt64 = 75_000_000_000
    /// What apps are told of that, in seconds: less, so that a request which they send at the last moment
    /// does not meet our close.
    static let announcedKeepAlive = 70

    /// How long after a request a connection is likely to have another, and is not ended to make room.
    static let busyTime: UInt64 = 5_000_000_000

    /// What the connection is doing.
    package enum Phase: CaseIterable {
        /// It waits for a request, with its task.
        case waiting
        /// It is left to the loop, because its task had nothing to do.
        case parked
        /// Parked, and its app has sent no request for some time.
        case resting
        /// A request is being read, or its response awaited.
        case receiving
        /// A 1xx response is being written.
        case interim
        /// The final response has begun.
        case responding
        /// The socket is closed.
        case closed
    }

    /// Whether the connection goes on after its exchange.
    package enum Shutdown: CaseIterable {
        case none
        /// It ends as soon as there is no exchange.
        case draining
        /// It has to end, whatever it is doing.
        case cut
    }

    /// What to do with the socket when the connection is to end.
    enum EndAction: Equatable {
        case none
        /// Wake the task that reads, so that it finds out what is wanted now.
        case cancelRead
        case abort
    }

    /// What to do before the next request.
    enum WaitAction: Equatable {
        /// End the connection, or leave it to the loop if it is parked now.
        case leave
        /// Wait for its first byte.
        case wait(until: UInt64)
        /// Park the connection if nothing more arrives at once, else wait.
        case parkIfQuiet(elseWaitUntil: UInt64)
        /// Read what is here already, and end the connection if that is nothing.
        case takeArrived
    }

    package private(set) var phase = Phase.waiting
    private(set) var shutdown = Shutdown.none
    /// Whether another request may follow the response that has begun.
    private(set) var persists = false
    /// The number of requests so far.
    private var served = 0
    /// Whether there was no request yet.
    var isUnused: Bool { served == 0 }
    /// When the connection was accepted, if it began parked.
    private var opened: UInt64?
    /// Until when the connection may stay open without a request.
    package private(set) var idleDeadline = UInt64.max
    /// Until when a connection that is drained may send its first request.
    private var graceEnd: UInt64 = 0
    /// Until when the head that has begun must be complete: counted from its first byte.
    private var headDeadline: UInt64?
    /// How long the task waits for a request before it parks the connection; `nil` if it never does.
    private let parkDelay: UInt64?
    /// How long the app may keep the connection open without a request.
    private let keepAlive: UInt64

    init(parkDelay: UInt64? = nil, keepAlive: UInt64 = DownstreamState.keepAlive) {
        self.parkDelay = parkDelay
        self.keepAlive = keepAlive
    }

    /// Whether the connection has no task, or is about to have none.
    package var isParked: Bool { phase == .parked || phase == .resting }

    // MARK: - Between requests

    /// A new connection is left to the loop: its app may take its time, but not as much as one that
    /// has sent a request before.
    mutating func beginParked(timeout: UInt64, now: UInt64) {
        idleDeadline = now &+ timeout
        opened = now
        phase = .parked
    }

    /// Until when the connection may stay as it is, if it can be spared where there are too many: the
    /// one whose time ends first has to go.
    ///
    /// - Returns: `nil` while it has a request, or has had one a moment ago.
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

    /// The connection has something to do again.
    ///
    /// - Returns: whether it was resting.
    mutating func wake() -> Bool {
        defer { phase = .parked }
        return phase == .resting
    }

    /// The task has nothing to read.
    ///
    /// Many apps send one request and keep the connection: after the first, a quiet connection is
    /// parked at once, so that the next one uses the memory of its task.
    mutating func awaitRequest(now: UInt64) -> WaitAction {
        let wasParked = isParked
        phase = .waiting
        switch shutdown {
        case .none: break
        case .draining: return served == 0 && now < graceEnd ? .wait(until: graceEnd) : .takeArrived
        case .cut: return .leave
        }
        // A connection that was parked has waited already.
        if !wasParked { idleDeadline = now &+ keepAlive }
        guard let parkDelay else { return .wait(until: idleDeadline) }
        let deadline = min(idleDeadline, now &+ parkDelay)
        guard served <= 1, now < idleDeadline else { return .wait(until: deadline) }
        return .parkIfQuiet(elseWaitUntil: deadline)
    }

    /// Nothing arrived at once.
    mutating func park() { phase = .parked }

    /// No request arrived by the deadline of `awaitRequest`: rests, unless it was the last deadline.
    ///
    /// - Returns: whether the connection is parked now.
    mutating func requestWaitTimedOut(at deadline: UInt64) -> Bool {
        guard deadline < idleDeadline, shutdown == .none else { return false }
        phase = .resting
        return true
    }

    // MARK: - A request

    /// Bytes are here, or may be read.
    mutating func beginReceiving() {
        phase = .receiving
        headDeadline = nil
    }

    /// No byte of a head is here: an empty line after a request's content begins none.
    ///
    /// - Returns: how long to wait; `nil` where no request is wanted.
    mutating func awaitHead(now: UInt64) -> UInt64? {
        switch shutdown {
        case .none:
            phase = .waiting
            return served == 0 ? min(idleDeadline, now &+ keepAlive) : now &+ keepAlive
        case .draining where served == 0 && now < graceEnd:
            phase = .waiting
            return graceEnd
        case .draining, .cut: return nil
        }
    }

    /// A head is incomplete.
    ///
    /// - Returns: until when the rest must arrive.
    mutating func awaitHeadEnd(timeout: UInt64, now: UInt64) -> UInt64 {
        let deadline = headDeadline ?? now &+ timeout
        headDeadline = deadline
        return deadline
    }

    /// More of a head is here.
    mutating func resumeReceiving() { phase = .receiving }

    /// A head is complete.
    mutating func requestArrived() {
        served += 1
        headDeadline = nil
    }

    // MARK: - Its responses

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
    /// - Parameter persistence: what the messages want.
    mutating func beginResponse(_ persistence: Persistence) {
        phase = .responding
        persists = persistence == .keepAlive && shutdown == .none
    }

    // MARK: - Its end

    /// How long a connection that is drained may take to send its first request: at least the first
    /// after the drain began, at most the second after it was accepted.
    static let grace: ClosedRange<UInt64> = 1_000_000_000...5_000_000_000

    /// Ends the connection after its exchange; if it waits for a request, after one that is here
    /// already, or after its first.
    ///
    /// The first request has the time of `timeout`, in nanoseconds, since the connection was accepted,
    /// within the bounds of ``grace``: an app that has just connected is about to ask, one that connected
    /// long ago probably is not.
    mutating func drain(now: UInt64, firstRequestWithin timeout: UInt64) -> EndAction {
        guard shutdown == .none else { return .none }
        shutdown = .draining
        guard phase == .waiting || isParked else { return .none }
        let grace = DownstreamState.grace
        graceEnd = max((opened ?? now) &+ min(timeout, grace.upperBound), now &+ grace.lowerBound)
        return .cancelRead
    }

    /// Ends the connection in the middle of what it does; an app whose response has not begun gets one
    /// that says why.
    mutating func cut() -> EndAction {
        shutdown = .cut
        return switch phase {
        case .receiving: .cancelRead
        case .closed: .none
        default: .abort
        }
    }

    mutating func close() { phase = .closed }

    /// How long what an app still sends is read before the close, like nginx's `lingering_time`; a
    /// shutdown does not wait for it.
    var lingerTime: UInt64 { shutdown == .none ? 30_000_000_000 : 1_000_000_000 }
}

/// Whether a message wants another one to follow it on the connection.
package enum Persistence {
    case keepAlive
    case close
}

extension RequestHead {
    /// What the app wants.
    package var persistence: Persistence { keepAlive ? .keepAlive : .close }
}
