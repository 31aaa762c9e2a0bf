import FoundationEssentials
import NetproxyBytes
import NetproxyHTTPMessage

/// A point in time by the system's clock (UTC), to the microsecond.
package struct WallTime: Sendable, Hashable, Comparable {
    /// Whole seconds since the Unix epoch.
    package var seconds: Int64
    /// The microseconds within the second, 0...999 999.
    package var microseconds: Int32

    /// Creates a point in time.
    package init(seconds: Int64, microseconds: Int32 = 0) {
        self.seconds = seconds
        self.microseconds = microseconds
    }

    /// The current time.
    package static var now: WallTime {
        // A Double of seconds is exact to a quarter of a microsecond in this century.
        let time = Date().timeIntervalSince1970
        let whole = time.rounded(.down)
        return WallTime(
            seconds: Int64(whole),
            microseconds: min(Int32((time - whole) * 1_000_000), 999_999)
        )
    }

    /// Converts nanoseconds since the Unix epoch, truncated to microseconds.
    package init(nanosecondsSince1970 nanoseconds: UInt64) {
        seconds = Int64(nanoseconds / 1_000_000_000)
        microseconds = Int32(nanoseconds % 1_000_000_000 / 1000)
    }

    /// Parses a time in the log's format, `2026-03-04T05:06:07.000089Z`.
    init?(rfc3339 text: String) {
        let bytes = Array(text.utf8)
        func number(_ range: Range<Int>) -> Int? {
            var value = 0
            for index in range {
                guard case let digit = Int(bytes[index]) - 48, (0...9).contains(digit) else {
                    return nil
                }
                value = value * 10 + digit
            }
            return value
        }
        guard bytes.count == 27, bytes[26] == UInt8(ascii: "Z"), let year = number(0..<4),
            let month = number(5..<7), (1...12).contains(month), let day = number(8..<10),
            let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
            let fraction = number(20..<26)
        else { return nil }
        let days = CivilDate(year: year, month: month, day: day).daysSince1970
        seconds = Int64(days * 86_400 + hour * 3600 + minute * 60 + second)
        microseconds = Int32(fraction)
    }

    /// Whether `left` is earlier.
    package static func < (left: WallTime, right: WallTime) -> Bool {
        (left.seconds, left.microseconds) < (right.seconds, right.microseconds)
    }
}
