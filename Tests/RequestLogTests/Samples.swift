import Bytes
import FoundationEssentials
import NetworkCore
import RequestLog
import System

/// Records and lines that the tests share.
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

    /// A line as `tail` reads it.
    static func parsed(_ text: String) -> LogLine? {
        LogLine(Array(text.utf8))
    }

    /// A short line with a time and a path, for tests about files.
    static func entry(_ second: Int, _ path: String) -> String {
        let time = "2026-03-04T05:06:\(second < 10 ? "0" : "")\(second).000000Z"
        return #"{"time":"\#(time)","event":"exchange","path":"\#(path)"}"# + "\n"
    }
}

extension OutputBuffer {
    var text: String { String(decoding: span.array, as: UTF8.self) }
}

/// A directory that goes away with the test.
final class TemporaryDirectory {
    let path: String

    init() throws {
        path = "\(FileManager.default.temporaryDirectory.path)/requestlog-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        // Left over at worst in the temporary directory.
        try? FileManager.default.removeItem(atPath: path)
    }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(filePath: "\(path)/\(name)"))
    }

    /// Shortens the file to nothing without replacing it.
    func empty(_ name: String) throws {
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

    /// Makes a file look as if it was written so many seconds ago.
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
