import NetproxyRequestLog
import NetproxySystem
import Synchronization
import Testing

/// A disk that blocks writes until `recover`.
private final class HangingDisk: Sendable {
    struct State {
        var isHanging = true
        var text = ""
        var reopened = 0
    }

    let state = Mutex(State())
    private let arrived = Mutex<[CheckedContinuation<Void, Never>]>([])
    private let isReached = Mutex(false)

    /// Returns when a write has begun.
    func reached() async {
        await withCheckedContinuation { continuation in
            let isReached = isReached.withLock { isReached in
                if !isReached { arrived.withLock { $0.append(continuation) } }
                return isReached
            }
            if isReached { continuation.resume() }
        }
    }

    func recover() { state.withLock { $0.isHanging = false } }

    /// Blocks the thread, like a write to a frozen file system.
    func block() {
        let waiters = isReached.withLock { isReached in
            isReached = true
            return arrived.withLock { waiters in
                defer { waiters = [] }
                return waiters
            }
        }
        for waiter in waiters { waiter.resume() }
        while state.withLock({ $0.isHanging }) { pause() }
    }

    private func pause() {
        // Spins, because no signal ends this wait.
        for _ in 0..<1000 { _ = Atomic(0).load(ordering: .relaxed) }
    }

    var lines: [Substring] { state.withLock { $0.text }.split(separator: "\n") }
}

private final class HangingDestination: LogDestination {
    let generation = 1
    private let disk: HangingDisk

    init(_ disk: HangingDisk) { self.disk = disk }

    func prepare(adding count: Int, now: ContinuousClock.Instant) throws(FileError) { disk.block() }
    func reopen() { disk.state.withLock { $0.reopened += 1 } }

    func write(_ bytes: Span<UInt8>) throws(FileError) -> Int {
        var piece: [UInt8] = []
        for index in bytes.indices { piece.append(bytes[index]) }
        disk.state.withLock { $0.text += String(decoding: piece, as: UTF8.self) }
        return piece.count
    }
}

/// Tests of the thread that writes all logs.
@Suite struct LogWriterTests {
    private static func sink(_ disk: HangingDisk, _ writer: LogWriter) -> LogSink {
        LogSink(labels: LogLabels(), to: HangingDestination(disk), writer: writer)
    }

    private static func write(_ line: String, to sink: LogSink) {
        sink.write(Array("\(line)\n".utf8).span, count: 1, at: Samples.time, now: .now)
    }

    @Test func `a disk that hangs blocks no caller and loses no line`() async throws {
        let disk = HangingDisk()
        let writer = try LogWriter()
        defer { writer.end() }
        let sinks = (0..<2).map { _ in Self.sink(disk, writer) }
        Self.write("first", to: sinks[0])
        sinks[0].writeSoon()
        await disk.reached()
        for number in 0..<100 { Self.write("\(number)", to: sinks[number % 2]) }
        sinks[0].reopen()
        #expect(sinks[0].counters.written == 0 && sinks[0].counters.dropped == 0)
        #expect(await !writer.flush(within: .milliseconds(1)))
        disk.recover()
        #expect(await writer.flush(within: .seconds(60)))
        #expect(disk.lines.count == 101 && disk.lines[0] == "first")
        let even = disk.lines.filter { Int($0).map { $0 % 2 == 0 } ?? false }
        #expect(even.compactMap { Int($0) } == Array(stride(from: 0, to: 100, by: 2)))
        #expect(disk.state.withLock { $0.reopened } == 1)
        #expect(sinks.map(\.counters.written) == [51, 50])
        #expect(sinks.map(\.counters.dropped) == [0, 0])
    }

    @Test func `lines beyond the capacity are lost, counted, and reported once`() async throws {
        let disk = HangingDisk()
        let writer = try LogWriter(capacity: 100)
        defer { writer.end() }
        let told = Atomic(0)
        let sink = LogSink(
            labels: LogLabels(),
            to: HangingDestination(disk),
            writer: writer,
            onLoss: { _ in told.add(1, ordering: .relaxed) }
        )
        let line = String(repeating: "x", count: 49)
        for _ in 0..<5 { Self.write(line, to: sink) }
        #expect(sink.counters.dropped == 3)
        #expect(sink.counters.lastError?.description.hasPrefix("the disk does not keep up") == true)
        #expect(told.load(ordering: .relaxed) == 1)
        disk.recover()
        #expect(await writer.flush(within: .seconds(60)))
        Self.write("last", to: sink)
        #expect(await writer.flush(within: .seconds(60)))
        #expect(disk.lines.count == 4 && disk.lines[3] == "last")
        #expect(disk.lines[2].contains(#""message":"lines were dropped","dropped":3"#))
        #expect(sink.counters.dropped == 3 && sink.counters.written == 3)
    }

    @Test func `a line written after the end is not lost`() async throws {
        let disk = HangingDisk()
        disk.recover()
        let writer = try LogWriter()
        let sink = Self.sink(disk, writer)
        Self.write("before", to: sink)
        writer.end()
        Self.write("after", to: sink)
        // The thread writes its queue before it ends.
        while disk.lines.count < 2 { await Task.yield() }
        #expect(Set(disk.lines) == ["before", "after"])
    }

    @Test func `an event is written without a flush`() async throws {
        let disk = HangingDisk()
        disk.recover()
        let writer = try LogWriter()
        defer { writer.end() }
        let log = ChannelLog(labels: LogLabels(), sink: Self.sink(disk, writer))
        log.write(EventRecord(time: Samples.time, level: .info, event: .daemon, message: "here"))
        while disk.lines.isEmpty { await Task.yield() }
        #expect(disk.lines[0].contains("here"))
    }
}
