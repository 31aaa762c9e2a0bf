import NetproxyBytes
package import NetworkCore

/// The times of AWS: `20261127T120000Z` in signatures (ISO 8601, basic format), and
/// `2026-11-27T12:00:00Z` in documents (RFC 3339).
package enum AWSTime {
    /// The stamp of a request, in whole seconds of UTC.
    package static func stamp(_ time: UnixTime) -> String {
        // Years of four digits; a clock that shows others is not set.
        let seconds = Int(min(max(time.secondsSinceEpoch, 0), 253_402_300_799).rounded(.down))
        let (days, rest) = (seconds / 86_400, seconds % 86_400)
        let date = CivilDate(daysSince1970: days)
        return digits(date.year, 4) + digits(date.month, 2) + digits(date.day, 2) + "T"
            + digits(rest / 3600, 2) + digits(rest / 60 % 60, 2) + digits(rest % 60, 2) + "Z"
    }

    /// Parses the time of a document; `nil` for a text in another format.
    ///
    /// A fraction of a second and an offset other than `Z` are accepted: helper programs write both.
    package static func parse(_ text: String) -> UnixTime? {
        let bytes = Array(text.utf8)
        func number(_ range: Range<Int>) -> Int? {
            guard range.upperBound <= bytes.count, bytes[range].allSatisfy(Grammar.isDigit) else {
                return nil
            }
            return bytes[range].reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        }
        func isMark(_ index: Int, _ marks: String) -> Bool {
            index < bytes.count && marks.utf8.contains(bytes[index])
        }
        guard let year = number(0..<4), isMark(4, "-"), let month = number(5..<7), isMark(7, "-"),
            let day = number(8..<10), isMark(10, "Tt "), let hour = number(11..<13),
            isMark(13, ":"), let minute = number(14..<16), isMark(16, ":"),
            let second = number(17..<19), (1...12).contains(month), (1...31).contains(day),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        var end = 19
        if isMark(end, ".") {
            repeat { end += 1 } while end < bytes.count && Grammar.isDigit(bytes[end])
        }
        var offset = 0
        if isMark(end, "+-") {
            guard let hours = number(end + 1..<end + 3), isMark(end + 3, ":"),
                let minutes = number(end + 4..<end + 6)
            else { return nil }
            offset = (hours * 60 + minutes) * (isMark(end, "-") ? -60 : 60)
            end += 6
        } else {
            guard isMark(end, "Zz") else { return nil }
            end += 1
        }
        guard end == bytes.count else { return nil }
        let days = CivilDate(year: year, month: month, day: day).daysSince1970
        let time = days * 86_400 + hour * 3600 + minute * 60 + second - offset
        return UnixTime(secondsSinceEpoch: Double(time))
    }

    private static func digits(_ number: Int, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }
}
