import NetproxyBytes
import NetproxyHTTPMessage

/// One challenge of a `WWW-Authenticate` field (RFC 9110 §11.6.1).
struct Challenge: Equatable, Sendable {
    /// The scheme, in lower case.
    var scheme: String
    /// The token68 of schemes that use one.
    var token68: String?
    /// The parameters, names in lower case.
    var parameters: [String: String] = [:]
}

/// Parses `WWW-Authenticate` by its grammar: several challenges in a line, schemes alone, token68,
/// quoted strings with commas and quoted pairs.
///
/// A malformed line is not divided into challenges, but an `error` outside its quoted strings is still
/// found: APIs forget commas and quotation marks.
struct ChallengeParser {
    private let bytes: [UInt8]
    private var position = 0

    /// Returns the `error` parameters of all lines and schemes, in order.
    static func errors(in headers: HTTPHeaders) -> [String] {
        headers.values(of: .wwwAuthenticate).flatMap { line -> [String] in
            guard let challenges = parse(line) else {
                return looseError(in: line).map { [$0] } ?? []
            }
            return challenges.compactMap { $0.parameters["error"].map(unquoted) }
        }
    }

    /// Returns the `error` parameter of a malformed line, if it has one outside of quoted strings.
    static func looseError(in line: String) -> String? {
        var parser = ChallengeParser(bytes: Array(line.utf8))
        while !parser.atEnd {
            if parser.current == UInt8(ascii: "\"") {
                // An unterminated string reaches to the end.
                guard parser.quotedString() != nil else { return nil }
            } else if let name = parser.tokenAfterSeparator() {
                let end = parser.position
                parser.skipSpaces()
                guard !parser.atEnd, parser.current == UInt8(ascii: "="),
                    name.lowercased() == "error"
                else {
                    parser.position = end
                    continue
                }
                parser.position += 1
                parser.skipSpaces()
                guard !parser.atEnd else { return nil }
                let value =
                    parser.current == UInt8(ascii: "\"") ? parser.quotedString() : parser.token()
                return value.map(unquoted)
            } else {
                parser.position += 1
            }
        }
        return nil
    }

    /// A token where a parameter may begin: not one in the query of an address, say.
    private mutating func tokenAfterSeparator() -> String? {
        let before = position == 0 ? Self.comma : bytes[position - 1]
        guard Grammar.isWhitespace(before) || before == Self.comma || before == UInt8(ascii: ";")
        else { return nil }
        return token()
    }

    /// A value without the apostrophes that some APIs write instead of quotation marks; in the grammar
    /// they are part of a token.
    private static func unquoted(_ value: String) -> String {
        guard value.count >= 2, value.hasPrefix("'"), value.hasSuffix("'") else { return value }
        return String(value.dropFirst().dropLast())
    }

    /// Returns the challenges of one line, or `nil` if it is malformed.
    static func parse(_ line: String) -> [Challenge]? {
        var parser = ChallengeParser(bytes: Array(line.utf8))
        return parser.list()
    }

    private init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    private mutating func list() -> [Challenge]? {
        var challenges: [Challenge] = []
        skipSeparators()
        while position < bytes.count {
            guard let scheme = token() else { return nil }
            var challenge = Challenge(scheme: scheme.lowercased())
            let hasSpace = skipSpaces()
            guard atEnd || current == Self.comma || hasSpace else { return nil }
            if hasSpace, !atEnd, current != Self.comma {
                if let token68 = token68() {
                    challenge.token68 = token68
                } else if !parameters(of: &challenge) {
                    return nil
                }
            }
            challenges.append(challenge)
            skipSpaces()
            guard atEnd || current == Self.comma else { return nil }
            skipSeparators()
        }
        return challenges
    }

    /// Parameters up to the end or to the comma before the next scheme.
    private mutating func parameters(of challenge: inout Challenge) -> Bool {
        while true {
            guard let (name, value) = parameter() else { return false }
            // RFC 6750 §3, RFC 9110 §11.2: each at most once.
            guard challenge.parameters.updateValue(value, forKey: name) == nil else { return false }
            let end = position
            skipSpaces()
            guard !atEnd else { return true }
            guard current == Self.comma else { return false }
            skipSeparators()
            if atEnd { return true }
            guard isParameterAhead else {
                position = end
                return true
            }
        }
    }

    private mutating func parameter() -> (name: String, value: String)? {
        guard let name = token() else { return nil }
        skipSpaces()
        guard !atEnd, current == UInt8(ascii: "=") else { return nil }
        position += 1
        skipSpaces()
        guard !atEnd else { return nil }
        let value = current == UInt8(ascii: "\"") ? quotedString() : token()
        return value.map { (name.lowercased(), $0) }
    }

    /// Whether a parameter follows and not the scheme of another challenge: `token BWS "="`.
    private var isParameterAhead: Bool {
        var probe = self
        guard probe.token() != nil else { return false }
        probe.skipSpaces()
        return !probe.atEnd && probe.current == UInt8(ascii: "=")
    }

    private mutating func token() -> String? {
        let start = position
        while !atEnd, Grammar.isTokenByte(current) { position += 1 }
        return position > start ? bytes.string(in: start..<position) : nil
    }

    /// RFC 9110 §11.2; only if it reaches to a comma or the end, else it is a parameter.
    private mutating func token68() -> String? {
        var end = position
        while end < bytes.count, Self.isToken68Byte(bytes[end]) { end += 1 }
        guard end > position else { return nil }
        while end < bytes.count, bytes[end] == UInt8(ascii: "=") { end += 1 }
        var next = end
        while next < bytes.count, Grammar.isWhitespace(bytes[next]) { next += 1 }
        guard next == bytes.count || bytes[next] == Self.comma else { return nil }
        defer { position = end }
        return bytes.string(in: position..<end)
    }

    private mutating func quotedString() -> String? {
        var value: [UInt8] = []
        position += 1
        while !atEnd {
            let byte = current
            position += 1
            if byte == UInt8(ascii: "\"") { return String(decoding: value, as: UTF8.self) }
            if byte == UInt8(ascii: "\\") {
                guard !atEnd, Grammar.isFieldValueByte(current) else { return nil }
                value.append(current)
                position += 1
            } else {
                guard Grammar.isFieldValueByte(byte) else { return nil }
                value.append(byte)
            }
        }
        return nil
    }

    private static let comma = UInt8(ascii: ",")
    private var atEnd: Bool { position >= bytes.count }
    private var current: UInt8 { bytes[position] }

    @discardableResult
    private mutating func skipSpaces() -> Bool {
        let start = position
        while !atEnd, Grammar.isWhitespace(current) { position += 1 }
        return position > start
    }

    /// Empty list elements are allowed (RFC 9110 §5.6.1.2).
    private mutating func skipSeparators() {
        while !atEnd, Grammar.isWhitespace(current) || current == Self.comma { position += 1 }
    }

    private static func isToken68Byte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "+"), UInt8(ascii: "/"):
            true
        default: false
        }
    }
}
