/// Parses durations: a whole number and one unit, such as `250ms`, `5s`, `2m`, `1h`.
package enum DurationText {
    /// Parses a duration; nil without a unit, with a sign or a fraction, or above a year.
    ///
    /// The limit of a year keeps later arithmetic far from overflow.
    package static func parse(_ text: String) -> Duration? {
        length(of: text).flatMap { $0 <= longest ? $0 : nil }
    }

    static let form = "a duration such as 5s"

    /// Returns the expected form for a duration above the limit, or for a number with another unit or none,
    /// or nil for other texts.
    static func bound(of text: String) -> String? {
        guard let length = length(of: text) else {
            return text.first?.isNumber == true ? "\(form) (ms, s, m or h)" : nil
        }
        return length > longest ? "at most a year (8760h)" : nil
    }

    /// Returns the duration in the largest unit that divides it evenly, as in a configuration.
    static func text(of duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        guard attoseconds == 0 else {
            return "\(seconds * 1000 + attoseconds / 1_000_000_000_000_000)ms"
        }
        for (unit, length) in [("h", Int64(3600)), ("m", 60)]
        where seconds >= length && seconds % length == 0 {
            return "\(seconds / length)\(unit)"
        }
        return "\(seconds)s"
    }

    private static let longest = Duration.seconds(365 * 86_400)

    private static func length(of text: String) -> Duration? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let count = WholeNumber.parse(digits, atMost: 1_000_000_000_000) else { return nil }
        return switch text.dropFirst(digits.count) {
        case "ms": .milliseconds(count)
        case "s": .seconds(count)
        case "m": .seconds(count * 60)
        case "h": .seconds(count * 3600)
        default: nil
        }
    }
}
