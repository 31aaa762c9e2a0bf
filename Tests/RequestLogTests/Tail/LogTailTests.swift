import NetproxyRequestLog
import Synchronization
import Testing

/// The number of lines a reader has seen, and a clock.
///
/// The clock advances by 200 ms with each read that finds lines, as in `tail -f`. Empty reads may follow one
/// another while the writer has no processor.
private final class Progress: Sendable {
    let lines = Mutex(0)
    let now = Mutex(ContinuousClock.now)

    func look(_ count: Int) {
        lines.withLock { $0 = count }
        now.withLock { $0 += .milliseconds(200) }
    }
}

@Suite struct LogTailTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func paths(_ lines: [LogLine]) -> [String] {
        lines.map { $0["path"]?.text ?? "" }
    }

    @Test func `the last lines of several channels are merged by time`() throws {
        try directory.write(
            Samples.entry(1, "/a1") + Samples.entry(4, "/a4"),
            to: "a.log"
        )
        try directory.write(
            Samples.entry(2, "/b2") + Samples.entry(3, "/b3") + Samples.entry(5, "/b5"),
            to: "b.log"
        )
        let all = try LogTail(directory: directory.path)
        #expect(paths(try all.last(4)) == ["/b2", "/b3", "/a4", "/b5"])
        let one = try LogTail(directory: directory.path, channels: ["a"])
        #expect(paths(try one.last(10)) == ["/a1", "/a4"])
        let none = try LogTail(directory: directory.path, channels: ["a", "c"])
        #expect(try none.missing == ["c"])
    }

    @Test func `the lines of a rotated log are shown, then those of the next file`() throws {
        try directory.write(Samples.entry(1, "/1"), to: "a.log.2")
        try directory.write(Samples.entry(2, "/2") + Samples.entry(3, "/3"), to: "a.log.1")
        try directory.write(Samples.entry(4, "/4"), to: "b.log.2")
        for channels in [[], ["a"]] {
            let tail = try LogTail(directory: directory.path, channels: channels)
            #expect(try tail.missing.isEmpty)
            #expect(!tail.isEmpty)
            #expect(paths(try tail.last(2)) == ["/2", "/3"])
            #expect(paths(try tail.last(9)) == ["/1", "/2", "/3"])
        }
        var tail = try LogTail(directory: directory.path)
        try directory.write(Samples.entry(5, "/5"), to: "a.log")
        #expect(paths(try tail.newLines()) == ["/5"])
    }

    @Test func `the exchange that ended last is shown last`() throws {
        let long = Samples.entry(1, "/long").replacing(
            #""path""#,
            with: #""duration_ms":50000.5,"path""#
        )
        let text = (2..<50).map { Samples.entry($0, "/\($0)") }.joined()
        try directory.write(text + long + Samples.entry(59, "/59"), to: "a.log")
        let tail = try LogTail(directory: directory.path)
        #expect(paths(try tail.last(2)) == ["/long", "/59"])
        #expect(paths(try tail.last(3)) == ["/49", "/long", "/59"])
    }

    /// One hour earlier is another day, month or year.
    @Test(arguments: [
        ("2026-01-01T00:30:00.000000Z", "2025-12-31T23:40:00.000000Z"),
        ("2024-03-01T00:30:00.000000Z", "2024-02-29T23:40:00.000000Z"),
        ("2026-03-01T00:30:00.000000Z", "2026-02-28T23:40:00.000000Z"),
        ("2026-08-01T00:30:00.000000Z", "2026-07-31T23:40:00.000000Z"),
        ("2026-05-01T00:30:00.000001Z", "2026-04-30T23:30:00.000002Z"),
    ])
    func `the end of a line is found across dates`(late: String, early: String) throws {
        let minutes = early.contains("T23:40") ? 3_000_001.0 : 3_600_000.0
        func line(_ time: String, _ path: String, _ duration: Double) -> String {
            #"{"time":"\#(time)","event":"exchange","path":"\#(path)","duration_ms":\#(duration)}"#
                + "\n"
        }
        // One line ends a second or a microsecond after the other.
        try directory.write(line(early, "/later", minutes), to: "a.log")
        try directory.write(line(late, "/sooner", 0), to: "b.log")
        let tail = try LogTail(directory: directory.path)
        #expect(paths(try tail.last(2)) == ["/sooner", "/later"])
    }

    @Test func `the line that ended last is found even if it was written earlier`() throws {
        let text = [58, 1, 2, 3].map { Samples.entry($0, "/\($0)") }.joined()
        try directory.write(text, to: "a.log")
        let tail = try LogTail(directory: directory.path)
        #expect(paths(try tail.last(1)) == ["/58"])
    }

    @Test func `the largest count returns all lines`() throws {
        try directory.write(Samples.entry(1, "/1"), to: "a.log")
        #expect(try LogTail(directory: directory.path).last(.max).count == 1)
    }

    @Test func `following reads files rotated twice since the last read`() throws {
        try directory.write(Samples.entry(1, "/1"), to: "a.log")
        var tail = try LogTail(directory: directory.path)
        try directory.move("a.log", to: "a.log.2")
        try directory.write(Samples.entry(2, "/2") + Samples.entry(3, "/3"), to: "a.log.1")
        try directory.write(Samples.entry(4, "/4"), to: "a.log")
        #expect(paths(try tail.newLines()) == ["/2", "/3", "/4"])
        #expect(try tail.newLines().isEmpty)
    }

    @Test func `following reads files rotated before the first read`() throws {
        var tail = try LogTail(directory: directory.path)
        try directory.write(Samples.entry(1, "/1"), to: "a.log.2")
        try directory.write(Samples.entry(2, "/2"), to: "a.log.1")
        try directory.write(Samples.entry(3, "/3"), to: "a.log")
        #expect(paths(try tail.newLines()) == ["/1", "/2", "/3"])
        // A log whose newest file was rotated before the first read.
        try directory.write(Samples.entry(4, "/old"), to: "b.log.1")
        tail = try LogTail(directory: directory.path)
        try directory.move("b.log.1", to: "b.log.2")
        try directory.write(Samples.entry(5, "/5"), to: "b.log.1")
        try directory.write(Samples.entry(6, "/6"), to: "b.log")
        #expect(paths(try tail.newLines()) == ["/5", "/6"])
    }

    @Test func `following continues after a file that was moved elsewhere`() throws {
        try directory.write(Samples.entry(1, "/1"), to: "a.log")
        var tail = try LogTail(directory: directory.path)
        try directory.append(Samples.entry(2, "/2"), to: "a.log")
        try directory.move("a.log", to: "a.log-20261125")
        try directory.write(Samples.entry(3, "/3"), to: "a.log")
        // On the first read, the move could be a rotation in progress.
        #expect(paths(try tail.newLines() + tail.newLines()) == ["/2", "/3"])
    }

    /// With `keep`, the current file is removed between two reads.
    @Test func `following continues if rotation removed the current file`() throws {
        try directory.write(Samples.entry(1, "/1"), to: "a.log")
        var tail = try LogTail(directory: directory.path)
        try directory.remove("a.log")
        try directory.write(Samples.entry(3, "/3"), to: "a.log.2")
        try directory.write(Samples.entry(4, "/4"), to: "a.log.1")
        try directory.write(Samples.entry(5, "/5"), to: "a.log")
        #expect(paths(try tail.newLines()) == ["/3", "/4", "/5"])
    }

    @Test func `removing a log does not bring older lines back`() throws {
        try directory.write(Samples.entry(1, "/1"), to: "a.log.1")
        try directory.age("a.log.1", by: 60)
        try directory.write(Samples.entry(2, "/2"), to: "a.log")
        var tail = try LogTail(directory: directory.path)
        try directory.remove("a.log")
        try directory.write(Samples.entry(3, "/3"), to: "a.log")
        #expect(paths(try tail.newLines()) == ["/3"])
    }

    @Test func `the last lines include rotated files`() throws {
        try directory.write(Samples.entry(3, "/3"), to: "a.log")
        try directory.write(Samples.entry(1, "/1") + Samples.entry(2, "/2"), to: "a.log.1")
        try directory.write(Samples.entry(0, "/0"), to: "a.log.2")
        let tail = try LogTail(directory: directory.path)
        #expect(paths(try tail.last(2)) == ["/2", "/3"])
        #expect(paths(try tail.last(10)) == ["/0", "/1", "/2", "/3"])
    }

    @Test func `only lines that satisfy every condition are shown`() throws {
        let text = (0..<60).map { Samples.entry($0, $0 % 10 == 0 ? "/ten" : "/other") }.joined()
        try directory.write("garbage\n" + text, to: "a.log")
        let tail = try LogTail(
            directory: directory.path,
            filter: [
                try WhereExpression("path=/ten"), try WhereExpression("time>2026-03-04T05:06:15"),
            ]
        )
        #expect(try tail.last(3).map(\.time.count) == [27, 27, 27])
        #expect(try tail.last(100).count == 4)
    }

    @Test func `lines are found across the blocks of a long file`() throws {
        let long = String(repeating: "x", count: 900)
        let text = (0..<600).map { Samples.entry($0 % 60, "/\($0)/\(long)") }.joined()
        try directory.write(text, to: "a.log")
        #expect(try LogTail(directory: directory.path).last(1000).count == 600)
    }

    @Test func `following shows only complete appended lines`() throws {
        try directory.append(Samples.entry(1, "/old"), to: "a.log")
        var tail = try LogTail(directory: directory.path)
        #expect(try tail.newLines().isEmpty)
        let entry = Samples.entry(2, "/new")
        try directory.append(String(entry.prefix(20)), to: "a.log")
        #expect(try tail.newLines().isEmpty)
        try directory.append(String(entry.dropFirst(20)), to: "a.log")
        #expect(paths(try tail.newLines()) == ["/new"])
    }

    @Test func `an incomplete first line is not shown`() throws {
        let entry = Samples.entry(1, "/first")
        try directory.write(String(entry.prefix(20)), to: "a.log")
        var tail = try LogTail(directory: directory.path)
        #expect(try tail.last(10).isEmpty && tail.newLines().isEmpty)
        try directory.append(String(entry.dropFirst(20)), to: "a.log")
        #expect(paths(try tail.newLines()) == ["/first"])
    }

    @Test func `following reads the rest of a rotated file first`() throws {
        try directory.append(Samples.entry(1, "/1"), to: "a.log")
        var tail = try LogTail(directory: directory.path)
        try directory.append(Samples.entry(2, "/2"), to: "a.log")
        try directory.move("a.log", to: "a.log.1")
        #expect(paths(try tail.newLines()) == ["/2"])
        try directory.append(Samples.entry(3, "/3"), to: "a.log.1")
        try directory.append(Samples.entry(4, "/4"), to: "a.log")
        #expect(paths(try tail.newLines()) == ["/3", "/4"])
        try directory.append(Samples.entry(5, "/5"), to: "a.log")
        #expect(paths(try tail.newLines()) == ["/5"])
    }

    @Test(arguments: [true, false])
    func `a lost half line is not joined to the next line`(isMoved: Bool) throws {
        try directory.append(Samples.entry(1, "/1"), to: "a.log")
        var tail = try LogTail(directory: directory.path)
        try directory.append(String(Samples.entry(2, "/2").prefix(20)), to: "a.log")
        #expect(try tail.newLines().isEmpty)
        if isMoved {
            try directory.move("a.log", to: "a.log.1")
        } else {
            try directory.truncate("a.log")
        }
        try directory.append(Samples.entry(3, "/3"), to: "a.log")
        #expect(paths(try tail.newLines()) == ["/3"])
    }

    @Test func `following continues after a file is truncated in place`() throws {
        try directory.append(Samples.entry(1, "/1") + Samples.entry(2, "/2"), to: "a.log")
        var tail = try LogTail(directory: directory.path)
        try directory.truncate("a.log")
        try directory.append(Samples.entry(3, "/3"), to: "a.log")
        #expect(paths(try tail.newLines()) == ["/3"])
    }

    @Test func `following finds a channel created later`() throws {
        var tail = try LogTail(directory: directory.path)
        try directory.append(Samples.entry(1, "/first"), to: "late.log")
        #expect(paths(try tail.newLines()) == ["/first"])
    }

    @Test func `following waits for a directory that does not exist yet`() throws {
        let place = "\(directory.path)/later"
        var every = try LogTail(directory: place)
        var one = try LogTail(directory: place, channels: ["a"])
        #expect(every.isEmpty)
        #expect(try one.missing == ["a"])
        #expect(try every.last(10).isEmpty && every.newLines().isEmpty && one.newLines().isEmpty)
        try LogDirectory.create(place)
        try directory.append(Samples.entry(1, "/first"), to: "later/a.log")
        #expect(paths(try every.newLines()) == ["/first"])
        #expect(paths(try one.newLines()) == ["/first"])
    }

    @Test func `following ends when the pause throws`() async throws {
        struct Stop: Error {}
        var tail = try LogTail(directory: directory.path)
        var seen: [String] = []
        var rounds = 0
        let directory = directory
        await #expect(throws: Stop.self) {
            try await tail.follow {
                rounds += 1
                guard rounds < 3 else { throw Stop() }
                try directory.append(Samples.entry(rounds, "/\(rounds)"), to: "a.log")
            } show: { lines in
                seen += lines.compactMap { $0["path"]?.text }
            }
        }
        #expect(seen == ["/1", "/2"])
    }

    /// Writes numbered lines to a file that rotates constantly, at most 400 lines ahead of the reader.
    @concurrent
    fileprivate static func write(_ count: Int, to path: String, keep: Int, behind seen: Progress)
        async
        throws
    {
        let file = RotatingFile(path: path, limits: RotatingFile.Limits(size: 700, keep: keep))
        for number in 0..<count {
            // A file has about 10 lines, and 100 files are kept for a reader.
            while number > seen.lines.withLock({ $0 }) + 400 { await Task.yield() }
            let line = Array(Samples.entry(number % 60, "/\(number)").utf8)
            try file.prepare(adding: line.count, now: seen.now.withLock { $0 })
            _ = try file.write(line.span)
        }
    }

    // Serialized because each case occupies two threads.
    @Test(.serialized, arguments: [0, 1, 5])
    func `following loses no line at any rate of rotation`(keep: Int) async throws {
        let count = 6_000
        var tail = try LogTail(directory: directory.path, channels: ["a"])
        let seen = Progress()
        let path = "\(directory.path)/a.log"
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await Self.write(count, to: path, keep: keep, behind: seen) }
            var next = 0
            while next < count {
                // Each read sorts its lines by time; this sorts them by number.
                let numbers = try tail.newLines().compactMap {
                    Int(($0["path"]?.text ?? "").dropFirst())
                }
                let expected = Set(next..<(next + numbers.count))
                guard Set(numbers) == expected else {
                    let lost = expected.subtracting(numbers).sorted().prefix(20)
                    Issue.record("after \(next): of \(numbers.count) lines there are no \(lost)")
                    seen.lines.withLock { $0 = .max / 2 }
                    break
                }
                next += numbers.count
                if !numbers.isEmpty { seen.look(next) }
                await Task.yield()
            }
            try await group.waitForAll()
        }
        #expect(try tail.newLines().isEmpty)
    }

    @Test func `an interrupted rotation hides no file`() throws {
        try directory.append(Samples.entry(1, "/1"), to: "a.log")
        var tail = try LogTail(directory: directory.path)
        try directory.move("a.log", to: "a.log.1")
        try directory.append(Samples.entry(2, "/2"), to: "a.log")
        try directory.move("a.log.1", to: "a.log.2")
        // The next step, renaming a.log to a.log.1, is still missing.
        #expect(paths(try tail.newLines()) == ["/2"])
        #expect(try tail.newLines().isEmpty)
        try directory.move("a.log", to: "a.log.1")
        try directory.append(Samples.entry(3, "/3"), to: "a.log")
        try directory.move("a.log.2", to: "a.log.3")
        try directory.move("a.log.1", to: "a.log.2")
        try directory.move("a.log", to: "a.log.1")
        try directory.append(Samples.entry(4, "/4"), to: "a.log")
        #expect(paths(try tail.newLines()) == ["/3", "/4"])
    }
}
