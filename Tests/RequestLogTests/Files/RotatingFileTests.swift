import FoundationEssentials
import NetproxyRequestLog
import NetproxySystem
import Testing

@Suite struct RotatingFileTests {
    private let directory: TemporaryDirectory
    private let start = ContinuousClock.now

    init() throws {
        directory = try TemporaryDirectory()
    }

    private func log(_ limits: RotatingFile.Limits = RotatingFile.Limits()) -> ChannelLog {
        ChannelLog(
            labels: LogLabels(channel: "orders"),
            directory: directory.path,
            limits: limits
        )
    }

    private func write(_ text: String, to log: ChannelLog, after: Duration = .zero) {
        log.sink.write(Array("\(text)\n".utf8).span, count: 1, at: Samples.time, now: start + after)
    }

    @Test func `lines are appended to a file that others cannot read`() throws {
        try directory.write("old\n", to: "orders.log")
        write("new", to: log())
        #expect(try directory.text(of: "orders.log") == "old\nnew\n")
        try FileSystem.unlink("\(directory.path)/orders.log")
        write("new", to: log())
        let attributes = try FileManager.default.attributesOfItem(
            atPath: "\(directory.path)/orders.log"
        )
        let mode = try #require(attributes[.posixPermissions].flatMap { Int("\($0)") })
        #expect(mode & 0o137 == 0)
    }

    @Test func `a log without a channel is netproxy's own`() throws {
        let log = ChannelLog(labels: LogLabels(), directory: directory.path)
        log.write(EventRecord(time: Samples.time, event: .reload, message: "reloaded"))
        #expect(try directory.text(of: "netproxy.log").contains(#""message":"reloaded""#))
    }

    @Test func `a file is rotated before it exceeds the limit, and some old files are kept`() throws
    {
        let log = log(RotatingFile.Limits(size: 10, keep: 3))
        let texts = ["one-----", "two-----", "three---", "four----", "five----"]
        for (index, text) in texts.enumerated() {
            write(text, to: log, after: .seconds(2 * index))
        }
        let names = ["orders.log", "orders.log.1", "orders.log.2", "orders.log.3"]
        #expect(try directory.names == names)
        for (name, text) in zip(names, texts.reversed()) {
            #expect(try directory.text(of: name) == "\(text)\n")
        }
    }

    @Test func `no old file is kept if the limit is zero`() throws {
        let log = log(RotatingFile.Limits(size: 12, keep: 0))
        for text in ["one-----", "two-----"] { write(text, to: log) }
        // A reader has two seconds to find the previous file.
        #expect(try directory.names == ["orders.log", "orders.log.1"])
        write("2", to: log, after: .seconds(1))
        #expect(try directory.names == ["orders.log", "orders.log.1"])
        write("three---", to: log, after: .seconds(2))
        #expect(try directory.text(of: "orders.log") == "three---\n")
        write("3", to: log, after: .seconds(5))
        #expect(try directory.names == ["orders.log"])
    }

    @Test func `a burst keeps its files for two seconds, and at most a hundred more`() throws {
        let log = log(RotatingFile.Limits(size: 10, keep: 2))
        for number in 10..<40 { write("line--\(number)", to: log) }
        #expect(try directory.names.count == 30)
        write("later-40", to: log, after: .seconds(2))
        #expect(try directory.names == ["orders.log", "orders.log.1", "orders.log.2"])
        #expect(try directory.text(of: "orders.log.2") == "line--38\n")
        for number in 0..<200 { write("many-\(number)", to: log, after: .seconds(9)) }
        #expect(try directory.names.count == 103)
    }

    @Test func `a line longer than the limit is written completely`() throws {
        let log = log(RotatingFile.Limits(size: 4, keep: 1))
        write("long enough", to: log)
        #expect(try directory.text(of: "orders.log") == "long enough\n")
        // An empty file is not rotated.
        #expect(try directory.names == ["orders.log"])
    }

    @Test func `a file may be as large as the limit`() throws {
        let log = log(RotatingFile.Limits(size: 18, keep: 1))
        for text in ["one-----", "two-----"] { write(text, to: log) }
        #expect(try directory.names == ["orders.log"])
        write("three---", to: log)
        #expect(try directory.text(of: "orders.log.1") == "one-----\ntwo-----\n")
    }

    @Test func `a file moved by another tool is reopened on request`() throws {
        let log = log()
        write("one", to: log)
        try directory.move("orders.log", to: "moved")
        write("two", to: log)
        log.reopen()
        write("three", to: log)
        #expect(try directory.text(of: "moved") == "one\ntwo\n")
        #expect(try directory.text(of: "orders.log") == "three\n")
    }

    @Test func `a file moved by another tool is noticed within a second`() throws {
        let log = log()
        write("one", to: log)
        try directory.move("orders.log", to: "moved")
        write("two", to: log, after: .milliseconds(999))
        write("three", to: log, after: .seconds(1))
        #expect(try directory.text(of: "moved") == "one\ntwo\n")
        #expect(try directory.text(of: "orders.log") == "three\n")
    }

    @Test func `lines are lost while the file cannot be opened`() throws {
        let log = ChannelLog(
            labels: LogLabels(channel: "orders"),
            directory: "\(directory.path)/later"
        )
        write("one", to: log)
        try LogDirectory.create("\(directory.path)/later")
        write("two", to: log, after: .milliseconds(500))
        #expect(log.counters.dropped == 2)
        #expect(log.counters.lastError?.isMissing == true)
        write("three", to: log, after: .seconds(1))
        let text = try directory.text(of: "later/orders.log")
        #expect(text.contains(#""dropped":2"#) && text.hasSuffix("}\nthree\n"))
    }

    @Test func `opening the file is retried on request`() throws {
        let log = ChannelLog(
            labels: LogLabels(channel: "orders"),
            directory: "\(directory.path)/later"
        )
        write("one", to: log)
        try LogDirectory.create("\(directory.path)/later")
        log.reopen()
        write("two", to: log)
        #expect(log.counters.dropped == 1)
        #expect(try directory.text(of: "later/orders.log").hasSuffix("}\ntwo\n"))
    }

    @Test func `an incomplete last line does not spoil the next one`() throws {
        try directory.write("old\nhal", to: "orders.log")
        write("new", to: log())
        #expect(try directory.text(of: "orders.log") == "old\nhal\nnew\n")
    }

    @Test func `a file that cannot be rotated grows, which is reported once`() throws {
        let log = log(RotatingFile.Limits(size: 10, keep: 1))
        // A directory, which a rename cannot replace.
        try directory.makeDirectory("orders.log.1")
        for (second, text) in ["one-----", "two-----", "three---"].enumerated() {
            write(text, to: log, after: .seconds(second))
        }
        let lines = try directory.text(of: "orders.log").split(separator: "\n")
        #expect(lines.count == 4)
        #expect(lines[0] == "one-----")
        #expect(lines[1].contains("the file is too long and cannot be rotated"))
        #expect(lines.suffix(2) == ["two-----", "three---"])
        #expect(log.counters.dropped == 0)
        try directory.remove("orders.log.1")
        write("four----", to: log, after: .seconds(3))
        #expect(try directory.text(of: "orders.log") == "four----\n")
    }

    @Test func `a truncated file counts as a new one`() throws {
        let file = RotatingFile(path: "\(directory.path)/orders.log", limits: RotatingFile.Limits())
        try file.prepare(adding: 4, now: start)
        _ = try file.write(Array("hal".utf8).span)
        let generation = file.generation
        try directory.truncate("orders.log")
        try file.prepare(adding: 4, now: start + .seconds(1))
        #expect(file.generation != generation)
        try file.prepare(adding: 4, now: start + .seconds(2))
        #expect(file.generation == generation + 1)
    }

    @Test func `a directory that cannot be created is reported with the system's error`() {
        let error = #expect(throws: (any Error).self) { try LogDirectory.create("/proc/nowhere") }
        #expect(error.map { "\($0)" } == "mkdir /proc/nowhere: No such file or directory")
    }

    @Test func `a symbolic link is not followed`() throws {
        try FileManager.default.createSymbolicLink(
            atPath: "\(directory.path)/orders.log",
            withDestinationPath: "elsewhere"
        )
        let log = log()
        write("one", to: log)
        #expect(log.counters.dropped == 1)
        #expect(try directory.names == ["orders.log"])
    }
}
