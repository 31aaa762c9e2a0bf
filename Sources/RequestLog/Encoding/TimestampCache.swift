import Bytes

/// Writes RFC 3339 times in UTC with microseconds, and works out the calendar once a second.
///
/// Not `Sendable`.
final class TimestampCache {
    private var second = Int64.min
    /// The text of that second.
    private let prefix = OutputBuffer(capacity: 64)

    init() {}

    /// Appends such as `2026-03-04T05:06:07.000089Z`.
    func append(_ time: WallTime, to output: OutputBuffer) {
        let prefix = prefix
        if time.seconds != second {
            second = time.seconds
            prefix.removeAll()
            prefix.append(Self.prefix(of: time.seconds))
        }
        output.append(prefix.span)
        let fraction = UInt64(max(0, time.microseconds))
        output.append(digit: fraction / 100_000 % 10)
        output.append(digit: fraction / 10_000 % 10)
        output.append(digit: fraction / 1000 % 10)
        output.append(digit: fraction / 100 % 10)
        output.append(digit: fraction / 10 % 10)
        output.append(digit: fraction % 10)
        output.append(UInt8(ascii: "Z"))
    }

    private static func prefix(of seconds: Int64) -> [UInt8] {
        let days = Int((Double(seconds) / 86400).rounded(.down))
        let second = Int(seconds) - days * 86400
        let (year, month, day) = civilDate(daysSince1970: days)
        var text: [UInt8] = []
        text.reserveCapacity(20)
        let parts: [(Int, Int, UInt8)] = [
            (year, 4, UInt8(ascii: "-")), (month, 2, UInt8(ascii: "-")),
            (day, 2, UInt8(ascii: "T")),
            (second / 3600, 2, UInt8(ascii: ":")), (second / 60 % 60, 2, UInt8(ascii: ":")),
            (second % 60, 2, UInt8(ascii: ".")),
        ]
        for (value, width, separator) in parts {
            var scale = width == 4 ? 1000 : 10
            while scale > 0 {
                text.append(UInt8(ascii: "0") + UInt8(value / scale % 10))
                scale /= 10
            }
            text.append(separator)
        }
        return text
    }

    /// The date of the proleptic Gregorian calendar, counted in eras of 400 years from 1 March
    /// (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
    private static func civilDate(daysSince1970: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = daysSince1970 + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, day)
    }
}
