import FoundationEssentials

/// A case of `Tests/HTTP1Tests/Corpus/*.http`: the bytes of a connection, and the expected result.
///
/// A file has cases like this one; lines that begin with `#` are comments.
///
///     request: the name of the case
///     |GET / HTTP/1.1
///     |Host: a
///     |
///     = GET / HTTP/1.1 host=a none keep
///
/// The first line contains the direction: `request`, or `response` with the request's method unless that is
/// GET. `|` is followed by bytes and CRLF, `>` by bytes alone. Escapes are `\r`, `\n`, `\t`, `\0`, `\\`,
/// `\xNN` and `\*N{…}`, which repeats the text in braces N times. Each `=` is a decoded message, or the end
/// of the connection.
package struct CorpusCase: Sendable, CustomStringConvertible {
    /// The side that sends the bytes.
    package enum Direction: Sendable, Equatable {
        case request
        /// The response to a request with this method.
        case response(to: String)
    }

    /// The file, without its suffix.
    package let topic: String
    /// The name, which describes the tested behavior.
    package let name: String
    /// The side that sends the bytes.
    package let direction: Direction
    /// The bytes, to the end of the stream.
    package let bytes: [UInt8]
    /// A summary of each decoded message, and the error if there is one.
    package let verdict: [String]

    /// The file and the name.
    package var description: String { "\(topic): \(name)" }

    /// Whether the last message is refused.
    package var isRefused: Bool { verdict.last?.hasPrefix("refused ") ?? false }

    /// The cases of all files.
    package static let all: [CorpusCase] = {
        let directory = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "HTTP1Tests/Corpus").path()
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.filter { $0.hasSuffix(".http") }.sorted().flatMap { name in
            let data = FileManager.default.contents(atPath: "\(directory)/\(name)") ?? Data()
            return cases(of: String(decoding: data, as: UTF8.self), in: String(name.dropLast(5)))
        }
    }()

    /// The cases of one direction.
    package static func all(where isWanted: (Direction) -> Bool) -> [CorpusCase] {
        all.filter { isWanted($0.direction) }
    }

    private static func cases(of text: String, in file: String) -> [CorpusCase] {
        text.split(separator: "\n\n").compactMap { block in
            CorpusCase(block.split(separator: "\n").filter { !$0.hasPrefix("#") }, in: file)
        }
    }

    private init?(_ lines: [Substring], in file: String) {
        guard let title = lines.first, let colon = title.firstRange(of: ": ") else { return nil }
        let words = title[..<colon.lowerBound].split(separator: " ")
        switch words.first {
        case "request": direction = .request
        case "response": direction = .response(to: words.count > 1 ? String(words[1]) : "GET")
        default: return nil
        }
        topic = file
        name = String(title[colon.upperBound...])
        var bytes: [UInt8] = []
        var verdict: [String] = []
        for line in lines.dropFirst() {
            switch line.first {
            case "|": bytes += CorpusCase.unescaped(line.dropFirst().utf8) + [0x0D, 0x0A]
            case ">": bytes += CorpusCase.unescaped(line.dropFirst().utf8)
            default: verdict.append(String(line.dropFirst(2)))
            }
        }
        self.bytes = bytes
        self.verdict = verdict
    }

    private static func unescaped(_ text: Substring.UTF8View) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = text
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let letter = rest.popFirst() else {
                bytes.append(byte)
                continue
            }
            switch letter {
            case UInt8(ascii: "r"): bytes.append(0x0D)
            case UInt8(ascii: "n"): bytes.append(0x0A)
            case UInt8(ascii: "t"): bytes.append(0x09)
            case UInt8(ascii: "0"): bytes.append(0x00)
            case UInt8(ascii: "x"):
                bytes.append(UInt8(Substring(rest.prefix(2)), radix: 16) ?? 0)
                rest = rest.dropFirst(2)
            case UInt8(ascii: "*"):
                let count = rest.prefix { $0 != UInt8(ascii: "{") }
                rest = rest.dropFirst(count.count + 1)
                let piece = rest.prefix { $0 != UInt8(ascii: "}") }
                rest = rest.dropFirst(piece.count + 1)
                for _ in 0..<(Int(Substring(count)) ?? 0) { bytes += unescaped(piece) }
            default: bytes.append(letter)
            }
        }
        return bytes
    }

    /// Returns the bytes in the notation of the files.
    package static func escaped(_ bytes: some Sequence<UInt8>) -> String {
        bytes.reduce(into: "") { text, byte in
            switch byte {
            case 0x0D: text += "\\r"
            case 0x0A: text += "\\n"
            case 0x09: text += "\\t"
            case 0x00: text += "\\0"
            case UInt8(ascii: "\\"): text += "\\\\"
            case 0x20..<0x7F: text.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                text += "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
    }
}
