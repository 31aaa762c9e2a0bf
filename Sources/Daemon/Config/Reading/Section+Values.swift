import NetproxyHTTPMessage

extension Section {
    /// Reads a scalar with a parser; reports `expected …, found …` if the parser returns nil.
    ///
    /// `bound` returns a more precise expectation for a value that is only out of range.
    func value<Value>(
        _ key: Key,
        expected: String,
        bound: (String) -> String? = { _ in nil },
        parse: (String) -> Value?
    ) -> Value? {
        self[key].flatMap { reading.value($0, expected: expected, bound: bound, parse: parse) }
    }

    /// Reads a scalar where users may write a secret by mistake; an error does not repeat the text.
    func quietValue<Value>(
        _ key: Key,
        expected: String,
        parse: (String) -> Value?
    ) -> Value? {
        guard let node = self[key] else { return nil }
        if let value = node.text.flatMap(parse) { return value }
        reading.report("expected \(expected), found \(node.kind)", at: node)
        return nil
    }

    /// Whether the value is `off`, quoted or not.
    func isOff(_ key: Key) -> Bool {
        self[key]?.text == "off"
    }

    func text(_ key: Key) -> String? {
        value(key, expected: "a text") { TextRules.isPlain($0) ? $0 : nil }
    }

    func flag(_ key: Key, default fallback: Bool) -> Bool {
        value(key, expected: "true or false") { text in
            switch text {
            case "true": true
            case "false", "off": false
            default: nil
            }
        } ?? fallback
    }

    func integer(_ key: Key, in range: ClosedRange<Int>, default fallback: Int) -> Int {
        let expected = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        return value(key, expected: expected) { text in
            WholeNumber.parse(text).flatMap { range.contains($0) ? $0 : nil }
        } ?? fallback
    }

    func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ key: Key,
        default fallback: Choice
    ) -> Choice {
        let names = Choice.allCases.map(\.rawValue)
        return value(key, expected: names.alternatives, parse: Choice.init)
            ?? fallback
    }

    func duration(
        _ key: Key,
        atLeast minimum: Duration = .milliseconds(1),
        default fallback: Duration
    ) -> Duration {
        duration(key, atLeast: minimum, orElse: "") ?? fallback
    }

    func durationOrOff(_ key: Key, default fallback: Duration?) -> Duration? {
        if isOff(key) { return nil }
        return duration(key, atLeast: .milliseconds(1), orElse: " or off") ?? fallback
    }

    /// Reads a duration; the error of one that is too short mentions the alternative.
    private func duration(
        _ key: Key,
        atLeast minimum: Duration,
        orElse alternative: String
    ) -> Duration? {
        let read = value(
            key,
            expected: DurationText.form,
            bound: DurationText.bound(of:),
            parse: DurationText.parse
        )
        guard let duration = read else { return nil }
        guard duration >= minimum else {
            let place = place(of: key)
            reading.report(
                "expected a duration above zero\(alternative), found '\(self[key]?.text ?? "")'",
                at: place
            )
            return nil
        }
        return duration
    }

    func size(
        _ key: Key,
        in range: ClosedRange<ByteCount>,
        default fallback: ByteCount
    ) -> ByteCount {
        let allowed = "a size from \(range.lowerBound) to \(range.upperBound)"
        let read = value(
            key,
            expected: ByteCount.form,
            bound: { ByteCount.isWellFormed($0) ? allowed : ByteCount.bound(of: $0) },
            parse: ByteCount.init(text:)
        )
        guard let size = read else { return fallback }
        guard range.contains(size) else {
            let place = place(of: key)
            reading.report("expected \(allowed), found '\(size)'", at: place)
            return fallback
        }
        return size
    }

    func absolutePath(_ key: Key) -> String? {
        value(key, expected: "an absolute path") { text in
            text.hasPrefix("/") && TextRules.isPlain(text) ? text : nil
        }
    }

    /// Reads a reference to a secret; an error does not repeat the text.
    ///
    /// `kind` determines how the secret is checked.
    func secret(
        _ key: Key,
        as kind: (SecretReference) -> Mention.Resource = Mention.Resource.secret
    ) -> SecretReference? {
        guard let node = self[key] else { return nil }
        guard let reference = reading.secret(node) else { return nil }
        reading.mention(kind(reference), at: node)
        return reference
    }

    /// Reads a list, or a single value as a list, with a parser for the items; `off` is an empty list.
    func list<Value>(
        _ key: Key,
        of expected: String,
        bound: (String) -> String? = { _ in nil },
        default fallback: [Value] = [],
        parse: (String) -> Value?
    ) -> [Value] {
        guard let node = self[key] else { return fallback }
        if isOff(key) { return [] }
        return (node.items ?? [node]).compactMap { item in
            reading.value(item, expected: expected, bound: bound, parse: parse)
        }
    }

    func endpoint(_ key: Key) -> EndpointURL? {
        self[key].flatMap { reading.url($0, EndpointURL.init(text:)) }
    }

    /// Reads a user name for Basic authentication.
    func username(_ key: Key) -> String? {
        // RFC 7617 §2: the first colon ends the user name.
        quietValue(key, expected: "a user name without a colon") { text in
            TextRules.isPlain(text) && !text.contains(":") ? text : nil
        }
    }
}

extension Reading {
    func value<Value>(
        _ node: ConfigNode,
        expected: String,
        bound: (String) -> String? = { _ in nil },
        parse: (String) -> Value?
    ) -> Value? {
        if let value = node.text.flatMap(parse) { return value }
        let expected = node.text.flatMap(bound) ?? expected
        let advice = node.text.flatMap(TextRules.variableAdvice) ?? ""
        report("expected \(expected), found \(node.found)\(advice)", at: node)
        return nil
    }

    /// Reads a reference to a secret; an error does not repeat the text.
    func secret(_ node: ConfigNode) -> SecretReference? {
        if let reference = node.text.flatMap(SecretReference.init(text:)) { return reference }
        let variable = node.text.flatMap(TextRules.variable).map { "; for a variable, env:\($0)" }
        report(SecretReference.expectation + (variable ?? ""), at: node)
        return nil
    }

    func url<Value>(
        _ node: ConfigNode,
        _ parse: (String) throws(URLText.Fault) -> Value
    ) -> Value? {
        guard let text = node.text else {
            report("expected a URL, found \(node.found)", at: node)
            return nil
        }
        do {
            return try parse(text)
        } catch {
            // A variable's name is no password; any other text may contain one.
            let variable = TextRules.variableAdvice(text).map { ", found '\(text)'\($0)" }
            report(error.rawValue + (variable ?? ""), at: node)
            return nil
        }
    }
}
