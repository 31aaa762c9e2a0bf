import NetproxyHTTPMessage

struct HMACKeys: SectionKeys {
    static let table = KeyTable(Self())
    static let example: String? = #"{ key: "file:/path", message: "{method}{target}{body}" }"#

    let key = Key("key", .unmentionedSecret)
    let algorithm = Key("algorithm", .choice(HMACSettings.Algorithm.self), default: "sha256")
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
    var signsRequests: Bool { true }

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
        if let key { section.key.mention(.hmacKey(key, settings.keyEncoding)) }
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

    func authentication(_ settings: HMACSettings) -> Authentication { .hmac(settings) }

    func settings(of authentication: Authentication) -> HMACSettings? {
        if case .hmac(let settings) = authentication { settings } else { nil }
    }

    func label(_ settings: HMACSettings) -> String { "auth.hmac (signed with \(settings.key))" }

    func secrets(_ settings: HMACSettings) -> [SecretReference] { [settings.key] }

    func companionFields(_ settings: HMACSettings) -> [CompanionField] {
        settings.fields.map { CompanionField(name: $0.name, key: "auth") }
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
