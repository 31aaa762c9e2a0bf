import NetproxyHTTPMessage

extension Form {
    /// A scalar that a parser accepts; otherwise, the error is `expected …, found …`.
    ///
    /// `bound` returns a more precise expectation for a value that is merely out of range.
    static func scalar(
        _ expected: String,
        as shape: Shape = .text,
        bound: @escaping @Sendable (String) -> String? = { _ in nil },
        parse: @escaping @Sendable (String) -> Value?
    ) -> Form {
        Form(shape) { slot in
            slot.node.flatMap {
                slot.reading.value($0, expected: expected, bound: bound, parse: parse)
            }
        }
    }

    /// A scalar that may be a misplaced secret; an error does not repeat the text.
    static func quiet(
        _ expected: String,
        as shape: Shape = .text,
        parse: @escaping @Sendable (String) -> Value?
    ) -> Form {
        Form(shape) { slot in
            guard let node = slot.node else { return nil }
            if let value = node.text.flatMap(parse) { return value }
            slot.reading.report("expected \(expected), found \(node.kind)", at: node)
            return nil
        }
    }
}

extension Form<String> {
    /// A nonempty text without control characters.
    static var text: Form { .text("a text", where: TextRules.isPlain) }

    /// A text that satisfies a condition.
    static func text(
        _ expected: String,
        where isValid: @escaping @Sendable (String) -> Bool
    ) -> Form {
        .scalar(expected) { isValid($0) ? $0 : nil }
    }

    /// A user name for Basic authentication.
    static var username: Form {
        // RFC 7617 §2: the first colon ends the user name.
        .quiet("a user name without a colon") { text in
            TextRules.isPlain(text) && !text.contains(":") ? text : nil
        }
    }

    static var absolutePath: Form {
        .scalar("an absolute path", as: .path) { text in
            text.hasPrefix("/") && TextRules.isPlain(text) ? text : nil
        }
    }

    /// The absolute path of a file; `kind` determines how the file is checked.
    static func file(_ kind: @escaping @Sendable (String) -> Mention.Resource) -> Form {
        Form(.path) { slot in
            let path = absolutePath.read(slot)
            if let path { slot.mention(kind(path)) }
            return path
        }
    }
}

extension Form<Bool> {
    static var flag: Form {
        .scalar("true or false", as: .flag) { text in
            switch text {
            case "true": true
            case "false", "off": false
            default: nil
            }
        }
    }
}

extension Form<Int> {
    /// A whole number; `noun` names it in the error.
    static func integer(_ range: ClosedRange<Int>, named noun: String = "a whole number") -> Form {
        let expected = "\(noun) from \(range.lowerBound) to \(range.upperBound)"
        return .scalar(expected, as: .number(range)) { text in
            WholeNumber.parse(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }
}

extension Form<UInt32> {
    static var userID: Form {
        .scalar("a numeric user id", as: .number(0...Int(UInt32.max))) { text in
            WholeNumber.parse(text).flatMap(UInt32.init(exactly:))
        }
    }
}

extension Form where Value: RawRepresentable<String> & CaseIterable & SendableMetatype {
    /// One of the raw values of an enum.
    static func choice(_: Value.Type) -> Form {
        let words = Value.allCases.map(\.rawValue)
        return .scalar(words.alternatives, as: .choice(words)) { Value(rawValue: $0) }
    }
}

extension Form<Duration> {
    /// A duration above zero.
    static var duration: Form { duration(atLeast: .milliseconds(1)) }

    static func duration(atLeast minimum: Duration, orElse alternative: String = "") -> Form {
        bounded { $0 >= minimum ? nil : "a duration above zero\(alternative)" }
    }

    static func duration(in range: ClosedRange<Duration>) -> Form {
        let ends = [range.lowerBound, range.upperBound].map(DurationText.text)
        return bounded {
            range.contains($0) ? nil : "a duration from \(ends[0]) to \(ends[1])"
        }
    }

    /// A duration with a condition, which returns the unmet expectation.
    private static func bounded(_ condition: @escaping @Sendable (Duration) -> String?) -> Form {
        Form(.duration) { slot in
            guard let node = slot.node else { return nil }
            let duration = slot.reading.value(
                node,
                expected: DurationText.form,
                bound: DurationText.bound(of:),
                parse: DurationText.parse
            )
            guard let duration else { return nil }
            guard let expected = condition(duration) else { return duration }
            slot.report("expected \(expected), found '\(node.text ?? "")'")
            return nil
        }
    }
}

extension Form<Duration?> {
    /// A duration above zero, or `off`.
    static var durationOrOff: Form {
        .off(or: .duration(atLeast: .milliseconds(1), orElse: " or off"))
    }
}

extension Form<ByteCount> {
    static func size(in range: ClosedRange<ByteCount>) -> Form {
        let allowed = "a size from \(range.lowerBound) to \(range.upperBound)"
        return Form(.size) { slot in
            guard let node = slot.node else { return nil }
            let size = slot.reading.value(
                node,
                expected: ByteCount.form,
                bound: { ByteCount.isWellFormed($0) ? allowed : ByteCount.bound(of: $0) },
                parse: ByteCount.init(text:)
            )
            guard let size, !range.contains(size) else { return size }
            slot.report("expected \(allowed), found '\(size)'")
            return nil
        }
    }
}

extension Form<SecretReference> {
    /// A reference to a secret; `kind` determines how the secret is checked.
    static func secret(
        as kind: @escaping @Sendable (SecretReference) -> Mention.Resource
    ) -> Form {
        Form(.secret) { slot in
            let reference = unmentionedSecret.read(slot)
            if let reference { slot.mention(kind(reference)) }
            return reference
        }
    }

    static var secret: Form { secret { .secret($0) } }

    /// A reference to a secret whose check depends on other keys.
    static var unmentionedSecret: Form {
        Form(.secret) { slot in slot.node.flatMap(slot.reading.secret) }
    }
}

extension Form<EndpointURL> {
    static var url: Form {
        Form(.url) { slot in
            slot.node.flatMap { slot.reading.url($0, EndpointURL.init(text:)) }
        }
    }
}

extension Form<[String]> {
    /// A program and its arguments: a list that begins with an absolute path.
    static var command: Form {
        Form(.list(.opaque)) { slot in
            let word = Form<String>.scalar("a word of a command") { $0 }
            let command = Form.list(word).read(slot) ?? []
            guard command.first?.hasPrefix("/") == true else {
                slot.report("expected a list that begins with the absolute path of a program")
                return nil
            }
            slot.mention(.secret(.exec(command)))
            return command
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
            // The name of a variable is not a password; any other text may contain one.
            let variable = TextRules.variableAdvice(text).map { ", found '\(text)'\($0)" }
            report(error.rawValue + (variable ?? ""), at: node)
            return nil
        }
    }
}
