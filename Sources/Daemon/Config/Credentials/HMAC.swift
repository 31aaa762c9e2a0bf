import NetproxyHTTPMessage
package import NetproxySettings

struct HMACKeys: SectionKeys {
    static let table = KeyTable(Self())
    static let example: String? = #"{ key: "file:/path", message: "{method}{target}{body}" }"#

    let key = Key("key", .unmentionedSecret)
    let algorithm = Key("algorithm", .choice(KeyedHash.self), default: "sha256")
    let message = Key("message", .signedText)
    let encoding = Key("encoding", .choice(HMACSettings.Encoding.self), default: "hex")
    let fields = Key("fields", .headers(HMACKind.field), default: [:])
    let date = Key("date", .choice(HMACSettings.DateForm.self), default: "unix")
    let keyEncoding = Key("key_encoding", .choice(SharedKeyEncoding.self), default: "text")
}

/// A signature of each request with a key shared with the API.
struct HMACKind: CredentialKind {
    static let key = Key("hmac", HMACKeys.self)

    var key: any DeclaredKey { Self.key }

    func read(_ section: Section<CredentialKeys>) -> HMACSettings? {
        let section = section[Self.key]
        section.key.requireWritten()
        section.message.requireWritten("required, such as \"{method}\\n{target}\\n{timestamp}\"")
        let (key, message) = (section[\.key], section[\.message])
        let settings = HMACSettings(
            key: key ?? .literal(""),
            keyEncoding: section[\.keyEncoding],
            algorithm: section[\.algorithm],
            message: message ?? SignedText([]),
            encoding: section[\.encoding],
            fields: section[\.fields],
            date: section[\.date]
        )
        if let key { section.key.mention(.sharedKey(key, settings.keyEncoding)) }
        for word in [SignedText.Word.timestamp, .nonce] where settings.message.words.contains(word)
        {
            checkIsSent(word, in: settings, section.fields)
        }
        return key == nil || message == nil ? nil : settings
    }

    /// Reports a missing field for a signed value, which the API needs to verify the signature.
    private func checkIsSent(_ word: SignedText.Word, in settings: HMACSettings, _ fields: Slot) {
        guard !settings.fields.contains(where: { $0.value.words.contains(word) }) else { return }
        fields.require(
            "the message has {\(word.rawValue)}, which the API needs to verify the signature: "
                + "add a field with it, such as X-\(word == .nonce ? "Nonce" : "Timestamp")"
        )
    }

    fileprivate static func field(_ name: String, _ value: Slot) -> HMACSettings.Field? {
        guard let parsed = Form<SignedText>.signedText.read(value) else { return nil }
        let isValid = parsed.parts.allSatisfy { part in
            if case .text(let text) = part { Grammar.isFieldValue("x\(text)x") } else { true }
        }
        guard isValid, !parsed.words.contains(.body) else {
            value.report("expected a header value without control characters and {body}")
            return nil
        }
        return HMACSettings.Field(name: name, value: parsed)
    }

    func place(_: HMACSettings, by placement: PlacementReader) -> CredentialPlacement? {
        guard placement.location != .path else {
            placement.section.location.report(
                "a signature does not go into the path that it signs; use header or query"
            )
            return nil
        }
        return placement.placement()
    }

    func check(_ settings: HMACSettings, in use: CredentialUse) {
        if use.upstreams.count > 1 {
            use.upstream.report(
                "a signature covers the path that is sent, so a channel with auth.hmac has one upstream"
            )
        }
        if use.host == .app, settings.uses(.host) {
            use.hostSlot.report(
                "auth.hmac signs the Host that is sent, which cannot be the app's: use upstream or a name"
            )
        }
    }
}

extension HMACSettings: CredentialSettings {
    package var label: String { "auth.hmac (signed with \(key))" }
    package var secretReferences: [SecretReference] { [key] }
    package var companionFields: [CompanionField] {
        fields.map { CompanionField(name: $0.name, key: "auth") }
    }
}

extension Form<SignedText> {
    fileprivate static var signedText: Form {
        Form(.opaque) { slot in
            guard let node = slot.node, let text = node.text else {
                slot.report("expected a text, found \(slot.node?.kind ?? "nothing")")
                return nil
            }
            do throws(SignedText.UnknownWord) {
                return try SignedText(text: text)
            } catch {
                let words = SignedText.Word.allCases.map { "{\($0.rawValue)}" }
                slot.report("unknown word {\(error.word)}, expected \(words.alternatives)")
                return nil
            }
        }
    }
}

/// The signature of each request with a key that netproxy shares with the API.
package struct HMACSettings: Sendable, Hashable {
    package var key: SecretReference
    package var keyEncoding: SharedKeyEncoding
    package var algorithm: KeyedHash
    /// The signed text.
    package var message: SignedText
    /// The notation of the signature.
    package var encoding: Encoding
    /// The fields sent with the signature, in the order of the file.
    package var fields: [Field]
    /// The notation of `{timestamp}`.
    package var date: DateForm

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
        /// `{timestamp+60s}`: the time of the request plus a duration, when the request expires.
        case expiry(Duration)
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
            let name = inner.prefix { $0 != "+" }
            guard !name.isEmpty, inner.endIndex < rest.endIndex, rest[inner.endIndex] == "}",
                name.utf8.allSatisfy(Self.isNameByte),
                name == inner || name == Word.timestamp.rawValue
            else {
                plain += "{"
                rest = rest[rest.index(after: brace)...]
                continue
            }
            let part: Part
            if name != inner, let wait = DurationText.parse(String(inner.dropFirst(name.count + 1)))
            {
                part = .expiry(wait)
            } else if let word = Word(rawValue: String(inner)) {
                part = .word(word)
            } else {
                throw UnknownWord(word: inner)
            }
            if !plain.isEmpty { parts.append(.text(plain)) }
            parts.append(part)
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
            switch part {
            case .text: nil
            case .word(let word): word
            case .expiry: .timestamp
            }
        }
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "_")
    }
}
