import NetproxyBytes

/// A condition on a log line: a key, an operator and a value, such as `status>=400`, or only a required key,
/// such as `error`.
///
/// Dots separate the levels of nested objects (`auth.generation`). Two numbers are compared as numbers,
/// anything else as text, which also works for times (`time>=2026-11-23T09`). An unknown key is an error, as
/// are an empty value and a value that is not a number for a numeric key. `~` is true if the text contains the value; case
/// matters. A list (`retries`) satisfies a condition if one of its values does. A missing key satisfies only
/// `!=`.
package struct WhereExpression: Sendable, Equatable {
    /// A comparison with a line's value.
    package enum Operator: String, Sendable, CaseIterable {
        /// No operator: the line must have the key.
        case present = ""
        // Longer operators come first, because they are tried in this order.
        case atLeast = ">="
        case atMost = "<="
        case different = "!="
        case equal = "="
        case greater = ">"
        case less = "<"
        case contains = "~"

        /// Reads the operator at the beginning of the text after a key.
        init?(prefixOf text: Substring) {
            // Every text begins with the empty operator.
            let found = Operator.allCases.first { operation in
                operation == .present ? text.isEmpty : text.hasPrefix(operation.rawValue)
            }
            guard let found else { return nil }
            self = found
        }
    }

    /// The error of an invalid expression, with the expected text.
    package struct Invalid: Error, Equatable, CustomStringConvertible {
        package let description: String
    }

    /// The key.
    package let key: String
    /// The comparison.
    package let comparison: Operator
    /// The value to compare with the line's value.
    package let value: String
    private let number: Double?

    /// Parses an expression.
    ///
    /// - Throws: `Invalid`, with the expected and the actual text.
    package init(_ text: String) throws(Invalid) {
        let key = text.prefix { Self.isKeyCharacter($0) }
        // Accept ==, as in programming languages.
        let written = text[key.endIndex...]
        let rest = written.hasPrefix("==") ? written.dropFirst() : written
        guard !key.isEmpty, key.first != ".", key.last != "." else {
            throw Invalid(
                description: "expected a key such as status or auth.generation, found '\(text)'"
            )
        }
        guard LogKey.exists(String(key)) else {
            let nearest = NearestKey.of(String(key), among: LogKey.names) ?? ""
            throw Invalid(
                description: "unknown key '\(key)', did you mean '\(nearest)'?"
            )
        }
        guard let comparison = Operator(prefixOf: rest) else {
            let operators = "one of = != > >= < <= ~ after '\(key)'"
            throw Invalid(description: "expected \(operators), found '\(rest)'")
        }
        let value = String(rest.dropFirst(comparison.rawValue.count))
        let isOrdered = [.atLeast, .atMost, .greater, .less].contains(comparison)
        // As from an empty variable of a shell; a bare key finds the lines with the field.
        guard !value.isEmpty || comparison == .present else {
            throw Invalid(
                description: "expected a value after '\(key)\(comparison.rawValue)', found nothing"
            )
        }
        guard !isOrdered || !value.hasPrefix("=") else {
            throw Invalid(description: "expected a value, found '\(value)'")
        }
        guard key != LogKey.time.name || !isOrdered || Self.isTime(value) else {
            throw Invalid(
                description: "expected a UTC time or its beginning, such as 2026-11-23T09:30, "
                    + "found '\(value)'"
            )
        }
        self.key = String(key)
        self.comparison = comparison
        self.value = key == LogKey.time.name && isOrdered ? Self.beginning(value) : value
        number = Double(value)
        // As text, 4 would be greater than 250ms.
        guard
            number != nil || [.present, .contains].contains(comparison)
                || !LogKey.isNumber(self.key)
        else {
            throw Invalid(
                description: "expected a number such as 250 after '\(key)\(comparison.rawValue)', "
                    + "found '\(value)'"
            )
        }
    }

    /// Returns a condition for lines no older than `age`, truncated to whole seconds.
    package static func youngerThan(
        _ age: Duration,
        at now: WallTime = .now
    ) throws(Invalid) -> WhereExpression {
        let output = OutputBuffer(capacity: 32)
        let then = WallTime(seconds: now.seconds - age.components.seconds)
        TimestampCache().append(then, to: output)
        return try since(String(decoding: output.span.array, as: UTF8.self))
    }

    /// Returns a condition for lines since a time, which may be a prefix such as a date.
    package static func since(_ time: String) throws(Invalid) -> WhereExpression {
        try WhereExpression("\(LogKey.time.name)>=\(time)")
    }

    /// The form of a complete time in the log.
    private static let wholeTime = "0000-00-00T00:00:00.000000Z"

    /// Returns an incomplete time without its `Z`, which as text would sort after any fraction.
    private static func beginning(_ time: String) -> String {
        time.hasSuffix("Z") && time.count < wholeTime.count ? String(time.dropLast()) : time
    }

    /// Whether the text is the beginning of a time, with at least the year.
    private static func isTime(_ text: String) -> Bool {
        let (form, text) = (wholeTime, beginning(text))
        return (4...form.count).contains(text.count)
            && zip(text, form).allSatisfy { $1 == "0" ? $0.isASCII && $0.isNumber : $0 == $1 }
            && isCalendar(Array(text))
    }

    /// Whether the parts of an incomplete time are within their ranges.
    private static func isCalendar(_ text: [Character]) -> Bool {
        func part(_ range: Range<Int>, within limits: ClosedRange<Int>) -> Int? {
            guard text.count >= range.upperBound else { return limits.lowerBound }
            return Int(String(text[range])).flatMap { limits.contains($0) ? $0 : nil }
        }
        guard let year = part(0..<4, within: 0...9999), let month = part(5..<7, within: 1...12)
        else { return false }
        let start = CivilDate(year: year, month: month, day: 1).daysSince1970
        let end = CivilDate(year: year + month / 12, month: month % 12 + 1, day: 1).daysSince1970
        return part(8..<10, within: 1...(end - start)) != nil
            && part(11..<13, within: 0...23) != nil && part(14..<16, within: 0...59) != nil
            && part(17..<19, within: 0...60) != nil
    }

    private static func isKeyCharacter(_ character: Character) -> Bool {
        character.isASCII
            && (character.isLetter || character.isNumber || "_.-".contains(character))
    }

    /// Whether a line satisfies the condition.
    package func matches(_ line: LogLine) -> Bool {
        guard let found = line[key], found != .null else { return comparison == .different }
        if comparison == .present { return true }
        guard case .list(let values) = found else { return matches(found) }
        guard comparison == .different else { return values.contains(where: matches) }
        return values.allSatisfy(matches)
    }

    private func matches(_ found: LogValue) -> Bool {
        if case .number(let left) = found, let right = number, comparison != .contains {
            return compare(left, right)
        }
        let text = found.plain
        return comparison == .contains ? text.contains(value) : compare(text, value)
    }

    private func compare<Value: Comparable>(_ left: Value, _ right: Value) -> Bool {
        switch comparison {
        case .equal: left == right
        case .different: left != right
        case .greater: left > right
        case .atLeast: left >= right
        case .less: left < right
        case .atMost: left <= right
        case .contains, .present: false
        }
    }
}
