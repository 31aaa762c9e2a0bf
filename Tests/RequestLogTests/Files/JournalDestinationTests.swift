import NetproxyHTTPMessage
import NetproxyRequestLog
import NetproxySettings
import NetproxySystem
import NetworkCore
import Testing

@Suite struct JournalDestinationTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = "\(directory.path)/socket"
    }

    private func sink(_ format: LogFormat = .json) throws -> LogSink {
        LogSink(labels: LogLabels(), to: try JournalDestination(path: path, format: format))
    }

    private func write(_ text: String, to sink: LogSink) {
        let count = text.utf8.count { $0 == UInt8(ascii: "\n") }
        sink.write(Array(text.utf8).span, count: count, at: Samples.time, now: .now)
    }

    @Test func `every line is an entry with its facts as fields`() throws {
        let journal = try Journal(path)
        var record = Samples.exchange(status: 502)
        record.context.timings.connect = .milliseconds(3)
        let line = Samples.line(record, LogLabels(channel: "orders"))
        let sink = try sink()
        write(line + line, to: sink)
        for _ in 0..<2 {
            let entry = String(decoding: try #require(journal.entry()), as: UTF8.self)
            let fields = entry.split(separator: "\n")
            #expect(fields.first == "MESSAGE=\(line.dropLast())")
            #expect(fields.count { $0.hasPrefix("MESSAGE=") } == 1)
            for field in [
                "PRIORITY=3", "SYSLOG_IDENTIFIER=netproxy", "NETPROXY_CHANNEL=orders",
                "NETPROXY_STATUS=502", "NETPROXY_REQUEST_ID=r1", "NETPROXY_TIMINGS_CONNECT_MS=3",
            ] {
                #expect(fields.contains(Substring(field)))
            }
        }
        #expect(journal.entry() == nil)
        #expect(sink.counters.written == 2)
    }

    @Test(arguments: [(200, "6"), (404, "4"), (502, "3")])
    func `an entry has the priority of its level`(status: Int, priority: String) throws {
        let journal = try Journal(path)
        write(Samples.line(Samples.exchange(status: HTTPStatus(rawValue: status))), to: try sink())
        let entry = String(decoding: try #require(journal.entry()), as: UTF8.self)
        #expect(entry.contains("\nPRIORITY=\(priority)\n"))
    }

    @Test func `a value with line breaks is preceded by its length`() throws {
        let journal = try Journal(path)
        write(#"{"level":"info","message":"a\nb"}"# + "\n", to: try sink())
        let entry = try #require(journal.entry())
        let field =
            Array("NETPROXY_MESSAGE\n".utf8) + [3, 0, 0, 0, 0, 0, 0, 0] + Array("a\nb\n".utf8)
        #expect(entry.suffix(field.count) == field[...])
    }

    @Test func `the message has the configured format`() throws {
        let journal = try Journal(path)
        write(Samples.line(Samples.exchange(status: 200)), to: try sink(.logfmt))
        let entry = String(decoding: try #require(journal.entry()), as: UTF8.self)
        #expect(entry.hasPrefix("MESSAGE=time=2026-03-04T05:06:07.000089Z level=info "))
    }

    @Test func `lines are lost and counted while no journal is listening`() throws {
        let sink = try sink()
        write(Samples.line(Samples.minimal()), to: sink)
        #expect(sink.counters.dropped == 1)
        #expect(sink.counters.lastError?.isMissing == true)
        let journal = try Journal(path)
        write(Samples.line(Samples.minimal()), to: sink)
        let notice = String(decoding: try #require(journal.entry()), as: UTF8.self)
        #expect(notice.contains("NETPROXY_DROPPED=1"))
    }
}

/// A socket that replaces the journal's.
private final class Journal {
    private let socket: DatagramSocket

    init(_ path: String) throws {
        socket = try DatagramSocket.receiving(at: path)
    }

    func entry() -> [UInt8]? { socket.receive() }
}
