import NetproxyBytes
import NetproxyHTTPMessage

/// A time in the format of HTTP fields (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
package enum HTTPDate {
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]

    /// Writes a time, given in seconds since 1970.
    static func append(_ seconds: UInt64, to output: OutputBuffer) {
        let (day, second) = (Int(seconds / 86_400), Int(seconds % 86_400))
        let date = CivilDate(daysSince1970: day)
        output.append(days[day % 7])
        output.append(", ")
        append(date.day, to: output)
        output.append(0x20)
        output.append(CivilDate.monthNames[date.month - 1])
        output.append(0x20)
        append(date.year / 100, to: output)
        append(date.year % 100, to: output)
        output.append(0x20)
        append(second / 3600, to: output)
        output.append(UInt8(ascii: ":"))
        append(second / 60 % 60, to: output)
        output.append(UInt8(ascii: ":"))
        append(second % 60, to: output)
        output.append(" GMT")
    }

    /// Returns a time, given in seconds since 1970, as text.
    package static func text(_ seconds: UInt64) -> String {
        let output = OutputBuffer(capacity: 32)
        append(seconds, to: output)
        return String(decoding: output.span.array, as: UTF8.self)
    }

    private static func append(_ number: Int, to output: OutputBuffer) {
        output.append(UInt8(ascii: "0") + UInt8(number / 10 % 10))
        output.append(UInt8(ascii: "0") + UInt8(number % 10))
    }
}
