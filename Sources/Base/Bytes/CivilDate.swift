/// A date of the proleptic Gregorian calendar in UTC.
///
/// The computation uses eras of 400 years that begin on 1 March, so that a leap day is the last day of a year
/// (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
package struct CivilDate: Sendable, Hashable {
    /// The names of the months in RFC 9110 §5.6.7 and most logs, January first.
    package static let monthNames = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// The number of days from 1 March of the year 0 to 1 January 1970.
    private static let daysBefore1970 = 719_468
    private static let daysOfEra = 146_097

    /// The year, with four digits until 9999.
    package let year: Int
    /// The month, 1 to 12.
    package let month: Int
    /// The day of the month, 1 to 31.
    package let day: Int

    /// Creates a date without checking that it exists.
    package init(year: Int, month: Int, day: Int) {
        (self.year, self.month, self.day) = (year, month, day)
    }

    /// Creates a date from the number of days since 1 January 1970, which is day 0.
    package init(daysSince1970 days: Int) {
        let shifted = days + CivilDate.daysBefore1970
        let era = CivilDate.era(of: shifted, CivilDate.daysOfEra)
        let inEra = shifted - era * CivilDate.daysOfEra
        let yearOfEra = (inEra - inEra / 1460 + inEra / 36_524 - inEra / 146_096) / 365
        let inYear = inEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * inYear + 2) / 153
        let isNextYear = shiftedMonth >= 10
        year = era * 400 + yearOfEra + (isNextYear ? 1 : 0)
        month = isNextYear ? shiftedMonth - 9 : shiftedMonth + 3
        day = inYear - (153 * shiftedMonth + 2) / 5 + 1
    }

    /// The number of days since 1 January 1970.
    package var daysSince1970: Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = CivilDate.era(of: shifted, 400)
        let yearOfEra = shifted - era * 400
        let inYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return era * CivilDate.daysOfEra + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100
            + inYear - CivilDate.daysBefore1970
    }

    /// Divides, rounding toward negative infinity.
    private static func era(of number: Int, _ length: Int) -> Int {
        (number >= 0 ? number : number - (length - 1)) / length
    }
}
