/// One line of a log file, parsed.
package struct LogLine: Sendable {
    /// The line as it stands in the file, without its newline.
    package let raw: String
    /// Its members.
    package let object: LogValue

    /// Parses a line, or returns nothing if it is neither a JSON object nor logfmt: a line that was
    /// cut off, say.
    package init?(_ bytes: [UInt8]) {
        let isJSON = bytes.first == UInt8(ascii: "{")
        guard let value = isJSON ? JSONReader.read(bytes) : LogfmtLine.read(bytes),
            case .object = value
        else { return nil }
        object = value
        raw = String(decoding: bytes, as: UTF8.self)
    }

    /// The value under a key; dots lead into objects (`auth.generation`).
    package subscript(key: String) -> LogValue? {
        if let value = object[key] { return value }
        guard key.contains(".") else { return nil }
        var value: LogValue? = object
        for part in key.split(separator: ".", omittingEmptySubsequences: false) {
            value = value?[String(part)]
        }
        return value
    }

    /// The time's text, which sorts like the time; empty if there is none.
    package var time: String { self["time"]?.text ?? "" }
}
