import FoundationEssentials
import NetproxyBytes
import NetproxyRequestLog
import NetproxySystem
import NetworkCore

/// Records and lines shared by the tests.
enum Samples {
    /// 2026-03-04T05:06:07.000089Z.
    static let time = WallTime(seconds: 1_772_600_767, microseconds: 89)

    static func minimal(path: String = "/v1/42") -> ExchangeRecord {
        ExchangeRecord(
            time: time,
            requestID: "r1",
            client: "127.0.0.1:5000",
            method: "GET",
            target: path
        )
    }

    static func exchange(status: HTTPStatus?, path: String = "/v1/42") -> ExchangeRecord {
        var record = minimal(path: path)
        record.status = status
        record.context.attempts = 1
        return record
    }

    /// Returns an exchange with a refreshed token and a retry.
    static func retried() -> ExchangeRecord {
        var record = exchange(status: 200)
        record.duration = .microseconds(12_340)
        record.context.retries = [.unauthorized]
        record.context.authorization = AuthorizationFacts(kind: "oauth")
        record.context.authorization?.isRefreshed = true
        return record
    }

    static func text(of line: HumanLine, _ style: HumanLine.Style = .plain) -> String {
        let output = OutputBuffer()
        line.encode(to: output, style: style)
        return output.text
    }

    static func line(_ record: ExchangeRecord, _ labels: LogLabels = LogLabels()) -> String {
        let encoder = LineEncoder(labels: labels)
        let output = OutputBuffer()
        encoder.encode(record, to: output)
        return output.text
    }

    static func line(_ event: EventRecord, _ labels: LogLabels = LogLabels()) -> String {
        let encoder = LineEncoder(labels: labels)
        let output = OutputBuffer()
        encoder.encode(event, to: output)
        return output.text
    }

    /// Returns the line as `tail` parses it.
    static func parsed(_ text: String) -> LogLine? {
        LogLine(Array(text.utf8))
    }

    /// Returns a short line with a time and a path, for tests about files.
    static func entry(_ second: Int, _ path: String) -> String {
        let time = "2026-03-04T05:06:\(second < 10 ? "0" : "")\(second).000000Z"
        return #"{"time":"\#(time)","event":"exchange","path":"\#(path)"}"# + "\n"
    }
}

extension OutputBuffer {
    var text: String { String(decoding: span.array, as: UTF8.self) }
}

/// A directory that is removed at the end of the test.
final class TemporaryDirectory {
    let path: String

    init() throws {
        path = "\(FileManager.default.temporaryDirectory.path)/requestlog-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        // If this fails, the directory remains in the temporary directory.
        try? FileManager.default.removeItem(atPath: path)
    }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(filePath: "\(path)/\(name)"))
    }

    /// Truncates the file without replacing it.
    func truncate(_ name: String) throws {
        try Data().write(to: URL(filePath: "\(path)/\(name)"), options: [])
    }

    func append(_ text: String, to name: String) throws {
        let file = try AppendFile(path: "\(path)/\(name)")
        _ = try file.write(Array(text.utf8).span)
    }

    func move(_ name: String, to other: String) throws {
        try FileSystem.rename("\(path)/\(name)", to: "\(path)/\(other)")
    }

    func makeDirectory(_ name: String) throws {
        try FileManager.default.createDirectory(
            atPath: "\(path)/\(name)",
            withIntermediateDirectories: false
        )
    }

    func remove(_ name: String) throws {
        try FileManager.default.removeItem(atPath: "\(path)/\(name)")
    }

    /// Sets the modification time to `seconds` ago.
    func age(_ name: String, by seconds: Double) throws {
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -seconds)],
            ofItemAtPath: "\(path)/\(name)"
        )
    }

    func text(of name: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(filePath: "\(path)/\(name)")), as: UTF8.self)
    }

    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }
}
