import NetproxyBytes
import NetproxyRequestLog
import NetproxySettings
import NetproxySystem
import Synchronization
import Testing

/// A destination with scripted writes, which records the accepted bytes.
private final class ScriptedDestination: LogDestination {
    struct Script {
        /// The number of bytes that each write accepts; `nil` for a full disk.
        ///
        /// Further writes accept all bytes.
        var writes: [Int?] = []
        var received: [UInt8] = []
        var generation = 1
        var calls = 0
    }

    let script: ScriptBox
    var generation: Int { script.value.withLock { $0.generation } }

    init(_ script: ScriptBox) { self.script = script }

    func prepare(adding count: Int, now: ContinuousClock.Instant) throws(FileError) {}
    func reopen() { script.value.withLock { $0.generation += 1 } }

    func write(_ bytes: Span<UInt8>) throws(FileError) -> Int {
        let wanted = script.value.withLock {
            $0.calls += 1
            return $0.writes.isEmpty ? Int.max : $0.writes.removeFirst()
        }
        guard let wanted else { throw FileError("write", code: 28) }
        let piece = bytes.extracting(0..<min(wanted, bytes.count)).array
        script.value.withLock { $0.received += piece }
        return piece.count
    }
}

private final class ScriptBox: Sendable {
    let value: Mutex<ScriptedDestination.Script>

    init(_ writes: [Int?]) {
        value = Mutex(ScriptedDestination.Script(writes: writes))
    }

    var lines: [Substring] {
        value.withLock { String(decoding: $0.received, as: UTF8.self) }
            .split(separator: "\n", omittingEmptySubsequences: false)
    }
}

@Suite struct LogSinkTests {
    private static let now = ContinuousClock.now

    private static func sink(_ box: ScriptBox) -> LogSink {
        LogSink(labels: LogLabels(channel: "orders"), to: ScriptedDestination(box))
    }

    private static func write(_ text: String, to sink: LogSink) {
        sink.write(
            Array(text.utf8).span,
            count: text.utf8.count { $0 == UInt8(ascii: "\n") },
            at: Samples.time,
            now: now
        )
    }

    @Test func `a short write is continued until the lines are complete`() {
        let box = ScriptBox([1, 3, 2])
        let sink = Self.sink(box)
        Self.write("first\nsecond\n", to: sink)
        #expect(box.lines == ["first", "second", ""])
        #expect(sink.counters.written == 2)
    }

    @Test func `a line cut off by a full disk is completed before the next one`() {
        // Eight bytes fit: all of the first line and two bytes of the second.
        let box = ScriptBox([8, nil])
        let sink = Self.sink(box)
        Self.write("first\nsecond\nthird\n", to: sink)
        #expect(sink.counters.written == 2)
        #expect(sink.counters.dropped == 1)
        Self.write("fourth\n", to: sink)
        #expect(box.lines.count == 5)
        #expect(box.lines[0] == "first" && box.lines[1] == "second" && box.lines[3] == "fourth")
        #expect(box.lines[2].contains(#""message":"lines were dropped","dropped":1"#))
    }

    @Test func `finish writes the rest once the disk has space`() {
        let box = ScriptBox([8, nil, nil])
        let sink = Self.sink(box)
        Self.write("first\nsecond\nthird\n", to: sink)
        sink.finish(at: Samples.time, now: .now)
        #expect(box.lines == ["first", "se"])
        sink.finish(at: Samples.time, now: .now)
        sink.finish(at: Samples.time, now: .now)
        #expect(box.lines.count == 4 && box.lines[1] == "second" && box.lines[3] == "")
        #expect(box.lines[2].contains(#""message":"lines were dropped","dropped":1"#))
        #expect(sink.counters.written == 2)
    }

    @Test func `a line that just fits has no rest`() {
        let box = ScriptBox([6, nil])
        let sink = Self.sink(box)
        Self.write("first\nsecond\n", to: sink)
        #expect(sink.counters.written == 1)
        #expect(sink.counters.dropped == 1)
        Self.write("third\n", to: sink)
        #expect(box.lines.count == 4)
        #expect(box.lines[0] == "first" && box.lines[2] == "third")
    }

    @Test func `a destination that accepts none of the rest is still full`() {
        let box = ScriptBox([2, nil, 0])
        let sink = Self.sink(box)
        Self.write("first\n", to: sink)
        Self.write("second\n", to: sink)
        #expect(sink.counters.dropped == 1)
        Self.write("third\n", to: sink)
        #expect(box.lines.first == "first" && box.lines.suffix(2) == ["third", ""])
    }

    @Test func `lines that could not be written are counted and reported once`() {
        let box = ScriptBox([nil, nil])
        let sink = Self.sink(box)
        Self.write("a\nb\n", to: sink)
        Self.write("c\n", to: sink)
        #expect(sink.counters.dropped == 3)
        #expect(sink.counters.lastError == FileError("write", code: 28))
        Self.write("d\n", to: sink)
        Self.write("e\n", to: sink)
        let notice =
            #"{"time":"2026-03-04T05:06:07.000089Z","level":"warning","channel":"orders","#
            + #""event":"log","message":"lines were dropped","dropped":3,"#
            + #""reason":"write: No space left on device"}"#
        #expect(box.lines == [notice[...], "d", "e", ""])
    }

    @Test func `the beginning of a loss is reported, not each line`() {
        let box = ScriptBox([nil, nil, .max, .max, nil])
        let told = Mutex<[Int32]>([])
        let sink = LogSink(
            labels: LogLabels(),
            to: ScriptedDestination(box),
            onLoss: { error in told.withLock { $0.append(error.code) } }
        )
        for expected in [1, 1, 1, 2] {
            Self.write("line\n", to: sink)
            #expect(told.withLock { $0 } == Array(repeating: 28, count: expected))
        }
    }

    @Test func `a notice that was cut off is completed before the next line`() throws {
        let box = ScriptBox([nil, 10, nil])
        let sink = Self.sink(box)
        Self.write("a\n", to: sink)
        Self.write("b\n", to: sink)
        Self.write("c\n", to: sink)
        #expect(box.lines.count == 4)
        #expect(Samples.parsed(String(box.lines[0]))?["dropped"]?.integer == 1)
        #expect(Samples.parsed(String(box.lines[1]))?["dropped"]?.integer == 1)
        #expect(box.lines[2] == "c")
        #expect(sink.counters.dropped == 2)
    }

    @Test func `the rest of a cut line does not go into a new file`() {
        let box = ScriptBox([2, nil])
        let sink = Self.sink(box)
        Self.write("first\n", to: sink)
        sink.reopen()
        Self.write("second\n", to: sink)
        #expect(sink.counters.dropped == 1)
        #expect(sink.counters.written == 1)
        // `fi` is in the old file; the recorder concatenates both.
        #expect(box.lines.count == 3)
        #expect(box.lines[0].hasPrefix("fi{") && box.lines[1] == "second")
    }

    @Test func `the rest of a cut line does not go to another destination`() {
        let (box, other) = (ScriptBox([2, nil]), ScriptBox([]))
        let sink = Self.sink(box)
        Self.write("first\n", to: sink)
        sink.redirect { ScriptedDestination(other) }
        Self.write("second\n", to: sink)
        #expect(other.lines.count == 3)
        #expect(other.lines[0].contains(#""dropped":1"#) && other.lines[1] == "second")
    }

    @Test func `a notice about lost lines has the log's format`() throws {
        let box = ScriptBox([nil])
        let destination = ScriptedDestination(box)
        let sink = LogSink(labels: LogLabels(channel: "a"), to: destination, format: .logfmt)
        Self.write("one\n", to: sink)
        Self.write("two\n", to: sink)
        #expect(box.lines.count == 3 && box.lines[1] == "two")
        #expect(box.lines[0].hasPrefix("time=2026-03-04T05:06:07.000089Z level=warning channel=a "))
        #expect(Samples.parsed(String(box.lines[0]))?["dropped"]?.integer == 1)
    }

    @Test func `the file of a retired channel is closed after each write`() {
        let box = ScriptBox([])
        let sink = Self.sink(box)
        var generation: Int { box.value.withLock { $0.generation } }
        sink.retire()
        let closed = generation
        Self.write("late\n", to: sink)
        #expect(generation == closed + 1)
        sink.revive()
        Self.write("again\n", to: sink)
        #expect(generation == closed + 1)
    }

    @Test func `a buffer writes its lines with one call`() {
        let box = ScriptBox([])
        let buffer = LogBuffer(ChannelLog(labels: LogLabels(), sink: Self.sink(box)))
        buffer.write(Samples.minimal(), now: Self.now)
        buffer.write(Samples.minimal(), now: Self.now + .milliseconds(150))
        #expect(box.value.withLock { $0.calls } == 0)
        buffer.flush(now: Self.now + .milliseconds(200))
        #expect(box.value.withLock { $0.calls } == 1)
        #expect(box.lines.count == 3)
    }

    @Test func `a buffer flushes itself at 32 KiB`() {
        let box = ScriptBox([])
        let buffer = LogBuffer(ChannelLog(labels: LogLabels(), sink: Self.sink(box)))
        let length = Samples.line(Samples.minimal()).utf8.count
        for _ in 0..<(LogBuffer.flushSize / length) {
            buffer.write(Samples.minimal(), now: Self.now)
        }
        #expect(box.value.withLock { $0.calls } == 0)
        buffer.write(Samples.minimal(), now: Self.now)
        #expect(box.value.withLock { $0.calls } == 1)
    }
}
