import Testing

@testable import NetproxyService

@Suite struct ConnectionSpreadTests {
    @Test func `a loop keeps a connection if no other loop has fewer`() {
        let spread = ConnectionSpread<Int>()
        let loads = (0..<3).map { spread.join($0) }
        #expect(spread.lighter(than: loads[0]) == nil)
        loads[0].add()
        // The other loop counts the connection immediately, before it arrives there.
        #expect(spread.lighter(than: loads[0]) == 1)
        #expect(spread.lighter(than: loads[0]) == 2)
        #expect(spread.lighter(than: loads[0]) == nil)
    }

    @Test func `many connections are distributed evenly, regardless of the accepting loop`() {
        let spread = ConnectionSpread<Int>()
        let loads = (0..<4).map { spread.join($0) }
        var counts = [0, 0, 0, 0]
        for _ in 0..<400 {
            if let other = spread.lighter(than: loads[0]) {
                counts[other] += 1
            } else {
                loads[0].add()
                counts[0] += 1
            }
        }
        #expect(counts == [100, 100, 100, 100])
    }

    @Test func `a stopped loop gets no more connections, and idle connections do not count`() {
        let spread = ConnectionSpread<Int>()
        let (busy, idle) = (spread.join(0), spread.join(1))
        for _ in 0..<9 { busy.add() }
        #expect(spread.lighter(than: busy) == 1)
        for _ in 0..<9 { busy.remove() }
        #expect(spread.lighter(than: busy) == nil)
        for _ in 0..<9 { busy.add() }
        spread.leave(idle)
        #expect(spread.lighter(than: busy) == nil)
    }
}
