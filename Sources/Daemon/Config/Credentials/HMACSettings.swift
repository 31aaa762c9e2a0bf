/// The signature of each request with a key that netproxy shares with the API.
package struct HMACSettings: Sendable, Hashable {
    package var key: SecretReference
    package var keyEncoding: KeyEncoding
    package var algorithm: Algorithm
    /// The signed text.
    package var message: SignedText
    /// The notation of the signature.
    package var encoding: Encoding
    /// The fields sent with the signature, in the order of the file.
    package var fields: [Field]
    /// The notation of `{timestamp}`.
    package var date: DateForm

    package typealias KeyEncoding = SharedKeyEncoding

    /// The hash function.
    package enum Algorithm: String, Sendable, CaseIterable {
        case sha256, sha512, sha1
    }

    /// A notation of bytes.
    package enum Encoding: String, Sendable, CaseIterable {
        case hex, base64
    }

    /// A notation of times.
    package enum DateForm: String, Sendable, CaseIterable {
        /// Seconds since 1970.
        case unix
        /// Milliseconds since 1970.
        case unixMilliseconds = "unix_ms"
        /// `Sun, 06 Nov 1994 08:49:37 GMT`.
        case rfc1123
        /// `1994-11-06T08:49:37Z`.
        case iso8601
    }

    /// A field sent with the signature.
    package struct Field: Sendable, Hashable {
        package var name: String
        package var value: SignedText

        package init(name: String, value: SignedText) {
            (self.name, self.value) = (name, value)
        }
    }

    /// Whether the signature or one of its fields contains a word.
    package func uses(_ word: SignedText.Word) -> Bool {
        message.words.contains(word) || fields.contains { $0.value.words.contains(word) }
    }
}

/// A text with words in braces that represent parts of a request.
package struct SignedText: Sendable, Hashable {
    package var parts: [Part]

    /// A piece of the text.
    package enum Part: Sendable, Hashable {
        case text(String)
        case word(Word)
    }

    /// A word for a part of the request.
    package enum Word: String, Sendable, CaseIterable {
        case method
        /// The path without the query.
        case path
        /// The query without the question mark.
        case query
        /// Path and query.
        case target
        case host
        case timestamp
        case body
        /// The SHA-256 of the content, in hexadecimal.
        case bodyDigest = "body_sha256"
        /// A random text, different in each request.
        case nonce
    }

    /// The error of an unknown word in braces.
    package struct UnknownWord: Error {
        let word: Substring
    }

    package init(_ parts: [Part]) {
        self.parts = parts
    }

    /// Parses a text; braces around anything except a name are plain text.
    package init(text: String) throws(UnknownWord) {
        var parts: [Part] = []
        var rest = text[...]
        var plain = ""
        while let brace = rest.firstIndex(of: "{") {
            plain += rest[..<brace]
            let inner = rest[rest.index(after: brace)...].prefix { $0 != "}" && $0 != "{" }
            guard !inner.isEmpty, inner.endIndex < rest.endIndex, rest[inner.endIndex] == "}",
                inner.utf8.allSatisfy(Self.isNameByte)
            else {
                plain += "{"
                rest = rest[rest.index(after: brace)...]
                continue
            }
            guard let word = Word(rawValue: String(inner)) else {
                throw UnknownWord(word: inner)
            }
            if !plain.isEmpty { parts.append(.text(plain)) }
            parts.append(.word(word))
            plain = ""
            rest = rest[rest.index(after: inner.endIndex)...]
        }
        plain += rest
        if !plain.isEmpty { parts.append(.text(plain)) }
        self.parts = parts
    }

    /// The words in the text.
    var words: [Word] {
        parts.compactMap { part in
            if case .word(let word) = part { word } else { nil }
        }
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "_")
    }
}
