import NetproxyBytes

/// Parses the delay that a server demands (`Retry-After`, RFC 9110 §10.2.3).
package enum RetryAfter {
    /// Reads the delay in seconds or until an HTTP date; returns `nil` if the field is missing or invalid.
    ///
    /// A date counts from the server's own `Date`, so that a skewed clock on either side does not matter.
    package static func duration(in headers: HTTPHeaders, now: UnixTime) -> Duration? {
        guard let value = headers[.retryAfter] else { return nil }
        if !value.isEmpty, value.utf8.allSatisfy(Grammar.isDigit) {
            // More than nine digits exceed 30 years, so the exact value does not matter.
            return .seconds(value.utf8.count > 9 ? 1_000_000_000 : Int(value) ?? 0)
        }
        guard let end = date(value, now: now) else { return nil }
        let start = headers[.date].flatMap { date($0, now: now) } ?? now
        return max(end - start, .zero)
    }

    /// Parses an HTTP date in one of its three forms (RFC 9110 §5.6.7).
    ///
    /// They are `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37
    /// 1994`.
    ///
    /// - Parameters:
    ///   - text: the field's value.
    ///   - now: the reference for two-digit years, which are in the past if they would be more than 50 years
    ///     ahead.
    /// - Returns: the time; `nil` for any other text.
    package static func date(
        _ text: String,
        now: UnixTime = SystemClock().wallNow
    ) -> UnixTime? {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false)
        switch parts.count {
        case 6 where parts[5] == "GMT" && parts[0].last == ",":
            return instant(digits(parts[1], 2), parts[2], digits(parts[3], 4), parts[4])
        case 4 where parts[3] == "GMT" && parts[0].last == ",":
            let day = parts[1].split(separator: "-", omittingEmptySubsequences: false)
            guard day.count == 3, let year = digits(day[2], 2) else { return nil }
            let latest = 2020 + Int(now.secondsSinceEpoch / (365.2425 * 86_400))
            return instant(digits(day[0], 2), day[1], latest - (latest - year) % 100, parts[2])
        case 5:
            return instant(digits(parts[2], 2), parts[1], digits(parts[4], 4), parts[3])
        case 6 where parts[2].isEmpty:
            return instant(digits(parts[3], 1), parts[1], digits(parts[5], 4), parts[4])
        default: return nil
        }
    }

    private static func instant(
        _ day: Int?,
        _ month: Substring,
        _ year: Int?,
        _ time: Substring
    ) -> UnixTime? {
        guard let day, (1...31).contains(day), let year,
            let month = CivilDate.monthNames.firstIndex(of: String(month))
        else { return nil }
        let clock = time.split(separator: ":", omittingEmptySubsequences: false)
        guard clock.count == 3, let hour = digits(clock[0], 2), hour < 24,
            let minute = digits(clock[1], 2), minute < 60,
            let second = digits(clock[2], 2), second <= 60
        else { return nil }
        let date = CivilDate(year: year, month: month + 1, day: day)
        let seconds = date.daysSince1970 * 86_400 + hour * 3600 + minute * 60 + second
        return UnixTime(secondsSinceEpoch: Double(seconds))
    }

    private static func digits(_ text: Substring, _ count: Int) -> Int? {
        guard text.utf8.count == count, text.utf8.allSatisfy(Grammar.isDigit) else {
            return nil
        }
        return Int(text)
    }
}
