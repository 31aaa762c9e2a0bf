/// Durations as the configuration writes them: a whole number and one unit, `250ms 5s 2m 1h`.
package enum DurationText {
    /// Reads a duration; nil without a unit, with a sign or a fraction, or above a year.
    ///
    /// The year keeps every later sum of instants and milliseconds far from overflow.
    package static func parse(_ text: String) -> Duration? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let count = WholeNumber.parse(digits) else { return nil }
        let duration: Duration
        switch text.dropFirst(digits.count) {
        case "ms": duration = .milliseconds(count)
        case "s": duration = .seconds(count)
        case "m": duration = .seconds(count * 60)
        case "h": duration = .seconds(count * 3600)
        default: return nil
        }
        return duration <= .seconds(365 * 86_400) ? duration : nil
    }
}
