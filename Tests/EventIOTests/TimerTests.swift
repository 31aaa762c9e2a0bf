import Synchronization
import TestSupport
import Testing

@testable import NetproxyEventIO

@Suite struct TimerTests {
    private final class Marker: TimerEntry {
        private let body: () -> Void

        init(_ body: @escaping () -> Void) {
            self.body = body
        }

        override func fire() { body() }
    }

    private final class Journal: Sendable {
        let names = Mutex<[String]>([])
        let done = Gate()
        var all: [String] { names.withLock { $0 } }
    }

    @Test func `entries fire in the order of their deadlines`() async throws {
        let loop = try TestLoop.shared()
        let journal = Journal()
        let held = await loop.call { loop -> [Marker] in
            // Far enough apart to keep their order on a busy machine; ticks are 16 ms.
            [("c", 600), ("a", 50), ("b", 300)].map { name, delay in
                let marker = Marker {
                    journal.names.withLock { $0.append(name) }
                    if name == "c" { journal.done.open() }
                }
                loop.schedule(marker, at: loop.deadline(after: .milliseconds(delay)))
                return marker
            }
        }
        try await journal.done.wait()
        #expect(journal.all == ["a", "b", "c"])
        _ = held
    }

    private enum CallOff: CaseIterable {
        case remove, suspend, postpone
    }

    @Test(arguments: CallOff.allCases)
    private func `an entry canceled by another entry in the same turn does not fire`(
        way: CallOff
    ) async throws {
        let loop = try EventLoop(index: 97)
        try loop.start()
        defer { loop.stop() }
        let journal = Journal()
        let held = await loop.call { loop -> [Marker] in
            let last = Marker { journal.names.withLock { $0.append("last") } }
            let first = Marker {
                journal.names.withLock { $0.append("first") }
                switch way {
                case .remove: loop.remove(last)
                case .suspend: loop.suspend(last)
                case .postpone: loop.schedule(last, at: loop.deadline(after: .seconds(3600)))
                }
            }
            let deadline = loop.deadline(after: .seconds(1800))
            loop.schedule(first, at: deadline)
            loop.schedule(last, at: deadline)
            loop.advance(by: .seconds(1801))
            return [first, last]
        }
        #expect(journal.all == ["first"])
        _ = held
    }

    @Test func `a suspended process reads before its timers fire`() async throws {
        let loop = try EventLoop(index: 98)
        try loop.start()
        defer { loop.stop() }
        let journal = Journal()
        let held = await loop.call { loop -> [Marker] in
            let marker = Marker { journal.names.withLock { $0.append("over") } }
            loop.schedule(marker, at: loop.deadline(after: .seconds(1)))
            loop.clock.skip(.seconds(10))
            // Like the timer event when the process resumes.
            loop.timerDue()
            journal.names.withLock { $0.append("read") }
            loop.timerDue()
            return [marker]
        }
        #expect(journal.all == ["read", "over"])
        _ = held
    }

    @Test func `an entry scheduled during a catch-up does not end it`() async throws {
        let loop = try EventLoop(index: 94)
        try loop.start()
        defer { loop.stop() }
        let journal = Journal()
        let held = await loop.call { loop -> [Marker] in
            let old = Marker { journal.names.withLock { $0.append("over") } }
            loop.schedule(old, at: loop.deadline(after: .seconds(1)))
            // Much more than one turn of the wheel, which counts from before the jump.
            loop.clock.skip(.seconds(60))
            loop.timerDue()
            let end = loop.alarm.time
            // Schedules an entry as a read does, with a deadline one minute away.
            let fresh = Marker { journal.names.withLock { $0.append("fresh") } }
            loop.schedule(fresh, at: loop.deadline(after: .seconds(60)))
            if loop.alarm.time == end { journal.names.withLock { $0.append("read") } }
            loop.timerDue()
            return [old, fresh]
        }
        #expect(journal.all == ["read", "over"])
        _ = held
    }

    @Test(arguments: [0, 1, 15, 16, 17, 33])
    func `no entry fires early`(milliseconds: Int) async throws {
        let loop = try TestLoop.shared()
        let journal = Journal()
        let held = await loop.call { loop -> Marker in
            let deadline = loop.deadline(after: .milliseconds(milliseconds))
            let marker = Marker {
                let now = monotonicNanoseconds()
                if now >= deadline { journal.names.withLock { $0.append("late") } }
                journal.done.open()
            }
            loop.schedule(marker, at: deadline)
            return marker
        }
        try await journal.done.wait()
        #expect(journal.all == ["late"])
        _ = held
    }

    @Test func `an entry moved later fires once, at the later time`() async throws {
        let loop = try TestLoop.shared()
        let journal = Journal()
        let held = await loop.call { loop -> [Marker] in
            let later = loop.deadline(after: .milliseconds(60))
            let moved = Marker {
                journal.names.withLock {
                    $0.append(monotonicNanoseconds() >= later ? "later" : "early")
                }
            }
            loop.schedule(moved, at: loop.deadline(after: .milliseconds(5)))
            loop.schedule(moved, at: later)
            let last = Marker { journal.done.open() }
            loop.schedule(last, at: loop.deadline(after: .milliseconds(120)))
            return [moved, last]
        }
        try await journal.done.wait()
        #expect(journal.all == ["later"])
        _ = held
    }

    @Test func `an entry moved earlier fires at the earlier time`() async throws {
        let loop = try TestLoop.shared()
        let journal = Journal()
        let held = await loop.call { loop -> Marker in
            let marker = Marker { journal.done.open() }
            loop.schedule(marker, at: loop.deadline(after: .seconds(3600)))
            loop.schedule(marker, at: loop.deadline(after: .milliseconds(5)))
            return marker
        }
        try await journal.done.wait()
        _ = held
    }

    @Test func `a canceled entry does not fire`() async throws {
        let loop = try TestLoop.shared()
        let journal = Journal()
        let held = await loop.call { loop -> [Marker] in
            let markers = ["suspended", "removed"].map { name in
                Marker { journal.names.withLock { $0.append(name) } }
            }
            for marker in markers {
                loop.schedule(marker, at: loop.deadline(after: .milliseconds(5)))
            }
            loop.suspend(markers[0])
            loop.remove(markers[1])
            let last = Marker { journal.done.open() }
            loop.schedule(last, at: loop.deadline(after: .milliseconds(60)))
            return markers + [last]
        }
        try await journal.done.wait()
        #expect(journal.all.isEmpty)
        _ = held
    }

    @Test func `a canceled sleep ends immediately`() async throws {
        let loop = try TestLoop.shared()
        let task = Task(executorPreference: loop) { try await loop.sleep(for: .seconds(3600)) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
