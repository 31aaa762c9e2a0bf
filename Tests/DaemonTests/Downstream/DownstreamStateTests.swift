import Testing

@testable import NetproxyPath

/// The rules of a downstream connection, without a connection.
@Suite struct DownstreamStateTests {
    private static let second: UInt64 = 1_000_000_000

    /// Returns a state in the given phase.
    private static func state(in phase: DownstreamState.Phase) -> DownstreamState {
        var state = DownstreamState(parkDelay: second)
        switch phase {
        case .waiting: break
        case .parked: state.beginParked(timeout: DownstreamState.keepAlive, now: 0)
        case .resting:
            _ = state.awaitRequest(now: 0)
            _ = state.requestWaitTimedOut(at: second)
        case .receiving: state.beginReceiving()
        case .interim:
            state.beginReceiving()
            _ = state.beginInterim()
        case .responding: state.beginResponse(.keepAlive)
        case .closed: state.close()
        }
        return state
    }

    /// The effects of a drain and a cut in each phase, and whether an interim response may begin.
    private static let table:
        [(
            phase: DownstreamState.Phase, drain: DownstreamState.EndAction,
            cut: DownstreamState.EndAction, interim: Bool
        )] = [
            (.waiting, .cancelRead, .abort, false),
            (.parked, .cancelRead, .abort, false),
            (.resting, .cancelRead, .abort, false),
            (.receiving, .none, .cancelRead, true),
            (.interim, .none, .abort, false),
            (.responding, .none, .abort, false),
            (.closed, .none, .none, false),
        ]

    @Test func `every phase handles a drain, a cut and an interim response`() {
        #expect(Set(Self.table.map(\.phase)) == Set(DownstreamState.Phase.allCases))
        for row in Self.table {
            var state = Self.state(in: row.phase)
            #expect(state.phase == row.phase)
            let drained = state.drain(now: 0, firstRequestWithin: 10 * Self.second)
            let begins = state.beginInterim()
            #expect(drained == row.drain, "\(row.phase)")
            #expect(begins == row.interim, "\(row.phase)")
            #expect(state.shutdown == .draining)
            state = Self.state(in: row.phase)
            let cut = state.cut()
            #expect(cut == row.cut, "\(row.phase)")
            _ = state.drain(now: 0, firstRequestWithin: 10 * Self.second)
            #expect(state.shutdown == .cut)
        }
    }

    @Test func `the timeout of a head begins with its first byte`() {
        var state = Self.state(in: .receiving)
        let timeout = 10 * Self.second
        let first = state.awaitHeadEnd(timeout: timeout, now: 5)
        state.resumeReceiving()
        let later = state.awaitHeadEnd(timeout: timeout, now: 9 * Self.second)
        #expect(first == timeout + 5)
        #expect(later == first)
        state.beginReceiving()
        let next = state.awaitHeadEnd(timeout: timeout, now: 20 * Self.second)
        #expect(next == 30 * Self.second)
    }

    @Test func `a connection is idle before a head begins`() {
        var state = Self.state(in: .receiving)
        let wait = state.awaitHead(now: 0)
        #expect(wait == DownstreamState.keepAlive)
        #expect(state.phase == .waiting)
        state.requestArrived()
        let drained = state.drain(now: 0, firstRequestWithin: 10 * Self.second)
        #expect(drained == .cancelRead)
        let grace = state.awaitHead(now: 0)
        #expect(grace == Self.second)
        let end = state.awaitHead(now: Self.second)
        #expect(end == nil)
    }

    @Test func `a drained connection without a request gets time for its first request`() {
        var state = DownstreamState(parkDelay: Self.second)
        state.beginParked(timeout: DownstreamState.keepAlive, now: 0)
        let action = state.drain(now: 2 * Self.second, firstRequestWithin: 10 * Self.second)
        #expect(action == .cancelRead)
        _ = state.wake()
        let wait = state.awaitRequest(now: 2 * Self.second)
        #expect(wait == .wait(until: 5 * Self.second))
        // Drained again by a stop after its listener was closed.
        let again = state.drain(now: 4 * Self.second, firstRequestWithin: 10 * Self.second)
        #expect(again == .none)
        let isParked = state.requestWaitTimedOut(at: 5 * Self.second)
        #expect(!isParked)
        let end = state.awaitRequest(now: 5 * Self.second)
        #expect(end == .takeArrived)
    }

    @Test(
        arguments: [
            // Accepted long ago: the time ends one second from now. A shorter head timeout also limits it.
            (accepted: 0, drained: 60, limit: 10, end: 61), (0, 1, 3, 3), (0, 0, 600, 5),
        ] as [(accepted: UInt64, drained: UInt64, limit: UInt64, end: UInt64)]
    )
    func `the time for a first request begins with the connection`(
        row: (accepted: UInt64, drained: UInt64, limit: UInt64, end: UInt64)
    ) {
        var state = DownstreamState(parkDelay: Self.second)
        state.beginParked(
            timeout: DownstreamState.keepAlive,
            now: row.accepted * Self.second
        )
        _ = state.drain(
            now: row.drained * Self.second,
            firstRequestWithin: row.limit * Self.second
        )
        let wait = state.awaitRequest(now: row.drained * Self.second)
        #expect(wait == .wait(until: row.end * Self.second))
    }

    @Test func `an empty line does not extend the time for a first request`() {
        var state = Self.state(in: .parked)
        _ = state.drain(now: 0, firstRequestWithin: 5 * Self.second)
        state.beginReceiving()
        let wait = state.awaitHead(now: Self.second)
        #expect(wait == 5 * Self.second)
        let end = state.awaitHead(now: 5 * Self.second)
        #expect(end == nil)
    }

    @Test(arguments: [DownstreamState.Phase.waiting, .parked, .resting, .responding])
    func `a drained connection after a request gets a second for one more`(
        phase: DownstreamState.Phase
    ) {
        var state = Self.state(in: phase)
        state.requestArrived()
        _ = state.drain(now: 0, firstRequestWithin: 5 * Self.second)
        let wait = state.awaitRequest(now: 0)
        #expect(wait == .wait(until: Self.second))
        let look = state.awaitRequest(now: Self.second)
        #expect(look == .takeArrived)
        state.beginReceiving()
        state.requestArrived()
        state.beginResponse(.keepAlive)
        #expect(!state.persists)
        _ = state.cut()
        let end = state.awaitRequest(now: 0)
        #expect(end == .leave)
    }

    @Test func `a quiet connection is parked after its first request, and later after a delay`() {
        var state = DownstreamState(parkDelay: Self.second)
        state.requestArrived()
        let first = state.awaitRequest(now: 0)
        #expect(first == .parkIfQuiet(elseWaitUntil: Self.second))
        state.park()
        #expect(state.phase == .parked)
        var wasResting = state.wake()
        #expect(!wasResting)
        state.requestArrived()
        let second = state.awaitRequest(now: 0)
        #expect(second == .wait(until: Self.second))
        let isParked = state.requestWaitTimedOut(at: Self.second)
        #expect(isParked)
        #expect(state.phase == .resting)
        wasResting = state.wake()
        #expect(wasResting)
    }

    @Test func `parking does not extend the idle timeout of a connection`() {
        var state = DownstreamState(parkDelay: Self.second)
        state.beginParked(timeout: DownstreamState.keepAlive, now: 0)
        #expect(state.idleDeadline == 75 * Self.second)
        let wait = state.awaitRequest(now: 74 * Self.second + 1)
        #expect(wait == .parkIfQuiet(elseWaitUntil: 75 * Self.second))
        let late = state.awaitRequest(now: 150 * Self.second)
        #expect(late == .parkIfQuiet(elseWaitUntil: 151 * Self.second))
        let isParked = state.requestWaitTimedOut(at: state.idleDeadline)
        #expect(!isParked)
    }

    @Test func `without a park delay a connection is never parked`() {
        var state = DownstreamState()
        let wait = state.awaitRequest(now: 0)
        #expect(wait == .wait(until: DownstreamState.keepAlive))
        let isParked = state.requestWaitTimedOut(at: DownstreamState.keepAlive)
        #expect(!isParked)
    }

    @Test func `a response allows another request unless the connection must close`() {
        var state = Self.state(in: .receiving)
        state.beginResponse(.keepAlive)
        #expect(state.persists)
        state.beginResponse(.close)
        #expect(!state.persists)
        _ = state.drain(now: 0, firstRequestWithin: 10 * Self.second)
        state.beginResponse(.keepAlive)
        #expect(!state.persists)
    }

    @Test func `the end of an interim response is not the end of the final response`() {
        var state = Self.state(in: .interim)
        state.endInterim()
        #expect(state.phase == .receiving)
        state.beginResponse(.keepAlive)
        state.endInterim()
        #expect(state.phase == .responding)
    }
}
