/// A request or response as text, of which only the framing is interpreted.
package struct RawMessage: Sendable {
    /// The request line or the status line.
    package let startLine: String
    /// Field lines in their original order and spelling.
    package let fields: [(name: String, value: String)]
    /// The content, without chunk framing.
    package let body: String
    /// The number of chunks.
    package let chunkCount: Int

    /// Returns the values of the fields with this name, ignoring case.
    package func values(_ name: String) -> [String] {
        fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    /// The value of the field with this name; `nil` if there is not exactly one.
    package subscript(name: String) -> String? {
        let values = values(name)
        return values.count == 1 ? values[0] : nil
    }

    /// The status of a response; 0 for a request.
    package var status: Int {
        let words = startLine.split(separator: " ")
        return words.count > 1 && words[0].hasPrefix("HTTP/") ? Int(words[1]) ?? 0 : 0
    }
}

/// The content that follows a head.
package enum RawContent: Sendable {
    /// According to `Content-Length` and `Transfer-Encoding`.
    case asFramed
    /// No content, regardless of the fields: for HEAD, 204 and 304.
    case none
}

/// Parses messages leniently, so that a test sees the sent bytes.
enum RawParser {
    /// Returns the first message and its length; `nil` while it is incomplete.
    static func message(in bytes: [UInt8], _ content: RawContent) -> (RawMessage, Int)? {
        guard let end = find(Array("\r\n\r\n".utf8), in: bytes, from: 0) else { return nil }
        let lines = split(bytes[..<end])
        var fields: [(name: String, value: String)] = []
        for line in lines.dropFirst() {
            guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) else { continue }
            let value = line[line.utf8.index(after: colon)...].drop { $0 == " " }
            fields.append((String(line[..<colon]), String(value)))
        }
        func make(_ body: [UInt8], _ chunks: Int) -> RawMessage {
            RawMessage(
                startLine: lines.first ?? "",
                fields: fields,
                body: String(decoding: body, as: UTF8.self),
                chunkCount: chunks
            )
        }
        let start = end + 4
        func value(_ name: String) -> String? {
            fields.first { $0.name.lowercased() == name }?.value
        }
        guard case .asFramed = content else { return (make([], 0), start) }
        if value("transfer-encoding")?.lowercased() == "chunked" {
            guard let (body, chunks, next) = chunks(in: bytes, from: start) else { return nil }
            return (make(body, chunks), next)
        }
        let length = value("content-length").flatMap { Int($0) } ?? 0
        guard bytes.count >= start + length else { return nil }
        return (make(Array(bytes[start..<(start + length)]), 0), start + length)
    }

    private static func chunks(in bytes: [UInt8], from start: Int) -> ([UInt8], Int, Int)? {
        var (body, count, next) = ([UInt8](), 0, start)
        while true {
            guard let end = find([0x0D, 0x0A], in: bytes, from: next) else { return nil }
            let size = Int(String(decoding: bytes[next..<end], as: UTF8.self), radix: 16) ?? 0
            next = end + 2
            if size == 0 { break }
            guard bytes.count >= next + size + 2 else { return nil }
            body += bytes[next..<(next + size)]
            count += 1
            next += size + 2
        }
        // Trailers, up to the empty line.
        while let end = find([0x0D, 0x0A], in: bytes, from: next) {
            if end == next { return (body, count, end + 2) }
            next = end + 2
        }
        return nil
    }

    private static func split(_ bytes: ArraySlice<UInt8>) -> [String] {
        bytes.split(separator: 0x0A).map { line in
            String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
        }
    }

    static func find(_ pattern: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
        guard bytes.count >= start + pattern.count else { return nil }
        for index in start...(bytes.count - pattern.count)
        where bytes[index] == pattern[0]
            && bytes[index..<(index + pattern.count)].elementsEqual(pattern)
        {
            return index
        }
        return nil
    }
}
