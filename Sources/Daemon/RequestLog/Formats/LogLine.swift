/// A parsed line of a log file.
package struct LogLine: Sendable {
    /// The original line, without its newline.
    package let raw: String
    /// The members of the line.
    package let object: LogValue

    /// Parses a line; nil if it is neither a JSON object nor logfmt, for example because it was cut off.
    package init?(_ bytes: [UInt8]) {
        let isJSON = bytes.first == UInt8(ascii: "{")
        guard let value = isJSON ? JSONReader.read(bytes) : LogfmtLine.read(bytes),
            case .object = value
        else { return nil }
        object = value
        raw = String(decoding: bytes, as: UTF8.self)
    }

    /// The value of a key.
    package subscript(key: LogKey) -> LogValue? { self[key.name] }

    /// The value of a key with this name; dots separate the levels of nested objects (`auth.generation`).
    package subscript(key: String) -> LogValue? {
        if let value = object[key] { return value }
        guard key.contains(".") else { return nil }
        var value: LogValue? = object
        for part in key.split(separator: ".", omittingEmptySubsequences: false) {
            value = value?[String(part)]
        }
        return value
    }

    /// The text of the time; empty if the line has none.
    package var time: String { self[.time]?.text ?? "" }

    /// The time at which the exchange or event ended, in microseconds since the Unix epoch; zero if the line
    /// has no time.
    ///
    /// The `time` of an exchange is its beginning.
    package var end: Int64 {
        guard let time = WallTime(rfc3339: time) else { return 0 }
        let start = time.seconds * 1_000_000 + Int64(time.microseconds)
        guard self[.event]?.text == "exchange", let duration = self[.duration]?.number else {
            return start
        }
        return start &+ (Int64(exactly: (duration * 1000).rounded()) ?? 0)
    }
}
