import NetproxyBytes
import NetproxyHTTPMessage

/// Writes RFC 3339 times in UTC with microseconds; the date is computed once per second.
///
/// Not `Sendable`.
final class TimestampCache {
    private var second = Int64.min
    /// The text of that second, including the decimal point.
    private let prefix = OutputBuffer(capacity: 64)

    init() {}

    /// Appends a time such as `2026-03-04T05:06:07.000089Z`.
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
        let date = CivilDate(daysSince1970: days)
        var text: [UInt8] = []
        text.reserveCapacity(20)
        let parts: [(Int, Int, UInt8)] = [
            (date.year, 4, UInt8(ascii: "-")), (date.month, 2, UInt8(ascii: "-")),
            (date.day, 2, UInt8(ascii: "T")),
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
}
