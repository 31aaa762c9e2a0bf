import Bytes

/// A time as fields have it (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Writes a time, in seconds since 1970.
    static func append(_ seconds: UInt64, to output: OutputBuffer) {
        let (day, second) = (Int(seconds / 86_400), Int(seconds % 86_400))
        let date = date(day)
        output.append(days[day % 7])
        output.append(", ")
        append(date.day, to: output)
        output.append(0x20)
        output.append(months[date.month - 1])
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

    private static func append(_ number: Int, to output: OutputBuffer) {
        output.append(UInt8(ascii: "0") + UInt8(number / 10 % 10))
        output.append(UInt8(ascii: "0") + UInt8(number % 10))
    }

    /// The date of a day since 1970, counted in years that begin with March: a leap day ends one.
    private static func date(_ day: Int) -> (year: Int, month: Int, day: Int) {
        // 1 March of the year 0 was 719 468 days before 1970; 400 years have 146 097.
        let shifted = day + 719_468
        let (era, inEra) = shifted.quotientAndRemainder(dividingBy: 146_097)
        let year = (inEra - inEra / 1460 + inEra / 36_524 - inEra / 146_096) / 365
        let inYear = inEra - (365 * year + year / 4 - year / 100)
        let month = (5 * inYear + 2) / 153
        let isNextYear = month >= 10
        return (
            era * 400 + year + (isNextYear ? 1 : 0),
            isNextYear ? month - 9 : month + 3,
            inYear - (153 * month + 2) / 5 + 1
        )
    }
}
