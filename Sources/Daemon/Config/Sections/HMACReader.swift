import NetproxyHTTPMessage

/// Reads how a channel's requests are signed with a shared key.
struct HMACReader {
    let section: Section<HMACKey>

    func settings() -> HMACSettings? {
        let keyEncoding = section.choice(.keyEncoding, default: HMACSettings.KeyEncoding.text)
        let key = section.secret(.key) { .hmacKey($0, keyEncoding) }
        if section[.key] == nil { section.require(.key) }
        if section[.message] == nil {
            section.require(.message, "required, such as \"{method}\\n{target}\\n{timestamp}\"")
        }
        let message = section[.message].flatMap(text)
        let fields = fields()
        let settings = HMACSettings(
            key: key ?? .literal(""),
            keyEncoding: keyEncoding,
            algorithm: section.choice(.algorithm, default: .sha256),
            message: message ?? SignedText([]),
            encoding: section.choice(.encoding, default: .hex),
            fields: fields,
            date: section.choice(.date, default: .unix)
        )
        for word in [SignedText.Word.timestamp, .nonce] where settings.message.words.contains(word)
        {
            checkIsSent(word, in: settings)
        }
        return key == nil || message == nil ? nil : settings
    }

    /// The API has to know what was signed.
    private func checkIsSent(_ word: SignedText.Word, in settings: HMACSettings) {
        guard !settings.fields.contains(where: { $0.value.words.contains(word) }) else { return }
        section.require(
            .fields,
            "the message has {\(word.rawValue)}, which the API has to be told: "
                + "add a field with it, such as X-\(word == .nonce ? "Nonce" : "Timestamp")"
        )
    }

    private func text(_ node: ConfigNode) -> SignedText? {
        guard let text = node.text else {
            section.reading.report("expected a text, found \(node.kind)", at: node)
            return nil
        }
        do {
            return try SignedText(text: text)
        } catch {
            let words = SignedText.Word.allCases.map { "{\($0.rawValue)}" }
            section.reading.report(
                "unknown word {\(error.word)}, expected \(words.alternatives)",
                at: node
            )
            return nil
        }
    }

    private func fields() -> [HMACSettings.Field] {
        HeaderRulesReader.named(section[.fields], in: section.reading) { name, value in
            guard let parsed = text(value) else { return nil }
            let isValid = parsed.parts.allSatisfy { part in
                if case .text(let text) = part { Grammar.isFieldValue("x\(text)x") } else { true }
            }
            guard isValid, !parsed.words.contains(.body) else {
                section.reading.report(
                    "expected a header value without control characters and {body}",
                    at: value
                )
                return nil
            }
            return HMACSettings.Field(name: name, value: parsed)
        }
    }
}
