import NetproxyBytes
import Testing

@Suite struct CivilDateTests {
    @Test(arguments: [
        (0, CivilDate(year: 1970, month: 1, day: 1)),
        (-1, CivilDate(year: 1969, month: 12, day: 31)),
        (-719_468, CivilDate(year: 0, month: 3, day: 1)),
        (-719_469, CivilDate(year: 0, month: 2, day: 29)),
        (9075, CivilDate(year: 1994, month: 11, day: 6)),
        (11_016, CivilDate(year: 2000, month: 2, day: 29)),
        (11_017, CivilDate(year: 2000, month: 3, day: 1)),
        (47_540, CivilDate(year: 2100, month: 2, day: 28)),
        (47_541, CivilDate(year: 2100, month: 3, day: 1)),
    ])
    func `a day number and its date convert into each other`(days: Int, date: CivilDate) {
        #expect(CivilDate(daysSince1970: days) == date)
        #expect(date.daysSince1970 == days)
    }

    @Test func `each day of eight centuries follows the previous one`() {
        var before = CivilDate(daysSince1970: -150_001)
        for days in -150_000...150_000 {
            let date = CivilDate(daysSince1970: days)
            #expect(date.daysSince1970 == days)
            let isNext =
                date.day == before.day + 1 && date.month == before.month
                || date.day == 1 && (date.month == before.month + 1 || before.month == 12)
            if !isNext { Issue.record("\(date) is not behind \(before)") }
            before = date
        }
    }
}
