/// Numbers and durations in reports to the operator.
package enum Wording {
    /// Returns a duration in at most two units: `9 s`, `3 min 20 s`, `2 h 5 min`, `4 d 1 h`.
    package static func time(_ seconds: Double) -> String {
        let whole = Int(max(0, seconds).rounded())
        switch whole {
        case ..<60: return "\(whole) s"
        case ..<3600: return pair(whole / 60, "min", whole % 60, "s")
        case ..<86_400: return pair(whole / 3600, "h", whole / 60 % 60, "min")
        default: return pair(whole / 86_400, "d", whole / 3600 % 24, "h")
        }
    }

    private static func pair(_ large: Int, _ unit: String, _ rest: Int, _ small: String) -> String {
        rest == 0 ? "\(large) \(unit)" : "\(large) \(unit) \(rest) \(small)"
    }

    /// Returns a number and its noun: `1 channel`, `2 channels`.
    package static func count(_ number: Int, _ noun: String) -> String {
        "\(number) \(noun)\(number == 1 ? "" : "s")"
    }
}
