import Testing

@testable import NetproxyPath

@Suite struct RequestIDTests {
    @Test func `ids increase over every carry and never repeat`() {
        // The carries of the second digit, the third digit and all digits.
        for start in [0, 1000, 32_000, (1 << 30) - 40] as [UInt64] {
            let ids = RequestIDs(counter: start)
            let made = (0..<2000).map { _ in ids.next() }
            #expect(made == made.sorted())
            #expect(Set(made).count == made.count)
            #expect(made.allSatisfy { $0.utf8.count == 15 && $0.prefix(8) == made[0].prefix(8) })
        }
    }

    @Test func `two sequences of ids differ`() {
        #expect(RequestIDs(counter: 7).next().prefix(8) != RequestIDs(counter: 7).next().prefix(8))
    }
}
