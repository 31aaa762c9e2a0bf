import Bytes

/// A condition on a line: a key, an operator and a value, such as `status>=400`; a key alone, such as
/// `error`, for a line that has it.
///
/// Keys are those of the line; dots lead into objects (`auth.generation`). Where both sides are
/// numbers they are compared as numbers, else as texts, which suits times (`time>=2026-11-23T09`).
/// A key that no line has is an error; one whose values are numbers wants one, without a unit.
/// `~` asks whether the text contains the value, with regard to case. A list (`retries`) satisfies a
/// condition if one of its values does. An absent key satisfies `!=` only.
package struct WhereExpression: Sendable, Equatable {
    /// How a line's value is compared.
    package enum Operator: String, Sendable, CaseIterable {
        /// No operator: the line has the key.
        case present = ""
        // Longest spelling first, which is how they are looked for.
        case atLeast = ">="
        case atMost = "<="
        case different = "!="
        case equal = "="
        case greater = ">"
        case less = "<"
        case contains = "~"

        /// What the text behind a key begins with.
        init?(prefixOf text: Substring) {
            // The empty one begins every text.
            let found = Operator.allCases.first { operation in
                operation == .present ? text.isEmpty : text.hasPrefix(operation.rawValue)
            }
            guard let found else { return nil }
            self = found
        }
    }

    /// An expression that makes no sense, and what was expected instead.
    package struct Invalid: Error, Equatable, CustomStringConvertible {
        package let description: String
    }

    /// The line's key.
    package let key: String
    /// The comparison.
    package let comparison: Operator
    /// What the line's value is compared with.
    package let value: String
    private let number: Double?

    /// Parses an expression.
    ///
    /// - Throws: `Invalid`, which says what was expected and what was found.
    package init(_ text: String) throws(Invalid) {
        let key = text.prefix { Self.isKeyCharacter($0) }
        let rest = text[key.endIndex...]
        guard !key.isEmpty, key.first != ".", key.last != "." else {
            throw Invalid(
                description: "expected a key such as status or auth.generation, found '\(text)'"
            )
        }
        guard LogKeys.contains(String(key)) else {
            let nearest = NearestKey.of(String(key), among: LogKeys.all) ?? ""
            throw Invalid(
                description: "no line has a key '\(key)', did you mean '\(nearest)'?"
            )
        }
        guard let comparison = Operator(prefixOf: rest) else {
            let operators = "one of = != > >= < <= ~ behind '\(key)'"
            throw Invalid(description: "expected \(operators), found '\(rest)'")
        }
        let value = String(rest.dropFirst(comparison.rawValue.count))
        let isOrdered = [.atLeast, .atMost, .greater, .less].contains(comparison)
        guard !value.isEmpty || [.equal, .different, .present].contains(comparison) else {
            throw Invalid(
                description: "expected a value behind '\(key)\(comparison.rawValue)', found nothing"
            )
        }
        guard !isOrdered || !value.hasPrefix("=") else {
            throw Invalid(description: "expected a value, found '\(value)'")
        }
        guard key != "time" || !isOrdered || Self.isTime(value) else {
            throw Invalid(
                description: "expected a time as in the log, 2026-11-23T09:30 of UTC or the "
                    + "beginning of one, found '\(value)'"
            )
        }
        self.key = String(key)
        self.comparison = comparison
        self.value = key == "time" && isOrdered ? Self.beginning(value) : value
        number = Double(value)
        // As texts, 4 would be more than 250ms.
        guard
            number != nil || value.isEmpty || comparison == .contains
                || !LogKeys.numbers.contains(self.key)
        else {
            throw Invalid(
                description: "expected a number such as 250 behind '\(key)\(comparison.rawValue)', "
                    + "found '\(value)'"
            )
        }
    }

    /// For lines that are not older than `age`, which is cut off to whole seconds.
    package static func youngerThan(
        _ age: Duration,
        at now: WallTime = .now
    ) throws(Invalid) -> WhereExpression {
        let output = OutputBuffer(capacity: 32)
        let then = WallTime(seconds: now.seconds - age.components.seconds)
        TimestampCache().append(then, to: output)
        return try since(String(decoding: output.span.array, as: UTF8.self))
    }

    /// For lines from a time on, of which the beginning will do.
    package static func since(_ time: String) throws(Invalid) -> WhereExpression {
        try WhereExpression("time>=\(time)")
    }

    /// The form of a whole time of the log.
    private static let wholeTime = "0000-00-00T00:00:00.000000Z"

    /// A time that is not whole without the Z of UTC, which as a text would be later than a fraction.
    private static func beginning(_ time: String) -> String {
        time.hasSuffix("Z") && time.count < wholeTime.count ? String(time.dropLast()) : time
    }

    /// Whether it is the beginning of a time, from the year on.
    private static func isTime(_ text: String) -> Bool {
        let (form, text) = (wholeTime, beginning(text))
        return (4...form.count).contains(text.count)
            && zip(text, form).allSatisfy { $1 == "0" ? $0.isASCII && $0.isNumber : $0 == $1 }
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
