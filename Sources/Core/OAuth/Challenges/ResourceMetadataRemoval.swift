import NetproxyBytes
package import NetworkCore

/// Removes from `WWW-Authenticate` where the metadata of a protected resource is (RFC 9728 §5.1).
///
/// An app that reads it signs in by itself, past netproxy. The rest of the field stays as it is,
/// byte for byte. Clients look for the parameter with regular expressions, so that in a line which is
/// not well formed it is found inside of quotation marks as well.
package struct ResourceMetadataRemoval {
    private static let name = Array("resource_metadata".utf8)
    private static let comma = UInt8(ascii: ",")
    private static let quote = UInt8(ascii: "\"")

    private let bytes: [UInt8]
    private var position = 0
    private var result: [UInt8] = []

    /// Removes the parameter from every line of the field; a line of nothing else goes as a whole.
    package static func edit(_ headers: inout HTTPHeaders) {
        let lines = headers.values(of: .wwwAuthenticate)
        let edited = lines.map(removed)
        guard edited != lines else { return }
        headers.remove(HTTPFieldName.wwwAuthenticate)
        for line in edited where !line.isEmpty {
            headers.append(.wwwAuthenticate, validated: line)
        }
    }

    /// Returns a line without the parameter.
    static func removed(from line: String) -> String {
        var removal = ResourceMetadataRemoval(bytes: Array(line.utf8))
        return removal.run(ChallengeParser.parse(line) == nil ? .everywhere : .outsideStrings)
    }

    private init(bytes: [UInt8]) { self.bytes = bytes }

    /// The part of a line to search for the parameter.
    private enum Reach {
        case outsideStrings
        /// Also within quotes, which may be unbalanced.
        case everywhere
    }

    private mutating func run(_ reach: Reach) -> String {
        while position < bytes.count {
            if reach == .outsideStrings, bytes[position] == Self.quote {
                let end = endOfString(at: position, closedBy: Self.quote) ?? bytes.count
                result += bytes[position..<end]
                position = end
            } else if let end = endOfParameter {
                cut(to: end)
            } else {
                result.append(bytes[position])
                position += 1
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Leaves out the parameter that begins here, with the comma that belongs to it.
    private mutating func cut(to end: Int) {
        let kept = result.count - result.reversed().prefix(while: Grammar.isWhitespace).count
        if kept > 0, result[kept - 1] == Self.comma {
            // Not the first of its challenge: the comma before it goes.
            result.removeSubrange((kept - 1)...)
            while let last = result.last, Grammar.isWhitespace(last) { result.removeLast() }
            position = end
            return
        }
        let next = skippingSeparators(from: end)
        // The first parameter: the next one takes its place, unless another challenge follows.
        if next < bytes.count, next > end, kept == 0 || isParameter(at: next) {
            position = next
        } else {
            result.removeSubrange(kept...)
            position = end
        }
    }

    /// The end of the parameter that begins here; `nil` if none does.
    private var endOfParameter: Int? {
        let start = position
        guard start == 0 || !Grammar.isTokenByte(bytes[start - 1]) else { return nil }
        let word = bytes[start...].prefix(Self.name.count)
        guard word.map(Grammar.lowercased) == Self.name else { return nil }
        guard let value = startOfValue(after: start + Self.name.count) else { return nil }
        guard value < bytes.count else { return value }
        if [Self.quote, UInt8(ascii: "'")].contains(bytes[value]) {
            let end = endOfString(at: value, closedBy: bytes[value])
            if end != nil || bytes[value] == Self.quote { return end ?? bytes.count }
        }
        // Servers forget the quotation marks, without which a URL is not a token.
        let rest = bytes[value...]
        return rest.firstIndex { $0 == Self.comma || Grammar.isWhitespace($0) } ?? bytes.count
    }

    private func startOfValue(after name: Int) -> Int? {
        let equals = skippingSpaces(from: name)
        guard equals < bytes.count, bytes[equals] == UInt8(ascii: "=") else { return nil }
        return skippingSpaces(from: equals + 1)
    }

    private func isParameter(at start: Int) -> Bool {
        let end = bytes[start...].firstIndex { !Grammar.isTokenByte($0) } ?? bytes.count
        return end > start && startOfValue(after: end) != nil
    }

    private func endOfString(at start: Int, closedBy mark: UInt8) -> Int? {
        var index = start + 1
        while index < bytes.count {
            if bytes[index] == mark { return index + 1 }
            index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
        }
        return nil
    }

    private func skippingSpaces(from start: Int) -> Int {
        bytes[start...].firstIndex { !Grammar.isWhitespace($0) } ?? bytes.count
    }

    private func skippingSeparators(from start: Int) -> Int {
        bytes[start...].firstIndex { !Grammar.isWhitespace($0) && $0 != Self.comma }
            ?? bytes.count
    }
}
