/// One challenge of `WWW-Authenticate` (RFC 9110 §11.6.1): a scheme with parameters or a token68.
public struct Challenge: Sendable, Hashable {
    /// The scheme, in lower case.
    public let scheme: String
    /// The parameters, names in lower case; of a repeated one the first.
    public let parameters: [String: String]

    /// The parameter `error` of RFC 6750 §3.
    public var error: String? { parameters["error"] }

    /// Reads all challenges of all lines; what does not follow the grammar ends its line.
    public static func parse(_ values: [String]) -> [Challenge] {
        values.flatMap { value in
            var parser = ChallengeParser(value)
            return parser.challenges()
        }
    }
}

/// Reads challenges by grammar, not by search: commas stand between challenges, between parameters
/// and inside quoted strings.
struct ChallengeParser {
    private let bytes: [UInt8]
    private var position = 0

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    mutating func challenges() -> [Challenge] {
        var found: [Challenge] = []
        var pending = ""
        skipSeparators()
        guard let first = token() else { return [] }
        pending = first
        while true {
            let (challenge, next) = finish(scheme: pending)
            found.append(challenge)
            guard let next else { return found }
            pending = next
        }
    }

    /// Reads what belongs to a scheme, and the scheme behind it, if there is one.
    private mutating func finish(scheme: String) -> (Challenge, next: String?) {
        var parameters: [String: String] = [:]
        func done(_ next: String?) -> (Challenge, String?) {
            (Challenge(scheme: scheme.lowercased(), parameters: parameters), next)
        }
        skipSpaces()
        skipToken68()
        while true {
            let start = position
            skipSeparators()
            guard position < bytes.count, let name = token() else { return done(nil) }
            skipSpaces()
            guard peek == UInt8(ascii: "=") else { return done(name) }
            position += 1
            skipSpaces()
            guard let value = value() else { return done(nil) }
            let key = name.lowercased()
            if parameters[key] == nil { parameters[key] = value }
            if position == start { return done(nil) }
        }
    }

    /// Passes over a token68 (RFC 9110 §11.2): it ends at a comma or at the end, which no parameter
    /// does behind its name.
    private mutating func skipToken68() {
        let start = position
        while let byte = peek, Grammar.isTokenByte(byte) || byte == UInt8(ascii: "/") {
            position += 1
        }
        while peek == UInt8(ascii: "=") { position += 1 }
        let end = position
        skipSpaces()
        if end > start, peek == nil || peek == UInt8(ascii: ",") { return }
        position = start
    }

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func token() -> String? {
        let start = position
        while let byte = peek, Grammar.isTokenByte(byte) { position += 1 }
        return position > start ? String(decoding: bytes[start..<position], as: UTF8.self) : nil
    }

    private mutating func value() -> String? {
        guard peek == UInt8(ascii: "\"") else {
            return token()
        }
        position += 1
        var text: [UInt8] = []
        while let byte = peek {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = peek else { return nil }
                position += 1
                text.append(escaped)
            default: text.append(byte)
            }
        }
        return nil
    }

    private mutating func skipSpaces() {
        while let byte = peek, Grammar.isWhitespace(byte) { position += 1 }
    }

    private mutating func skipSeparators() {
        while let byte = peek, Grammar.isWhitespace(byte) || byte == UInt8(ascii: ",") {
            position += 1
        }
    }
}
