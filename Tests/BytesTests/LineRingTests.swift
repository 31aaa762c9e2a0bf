import NetproxyBytes
import Testing

@Suite struct LineRingTests {
    private func text(_ ring: LineRing, _ number: Int) -> String? {
        ring.withLine(number) { $0.string(in: 0..<$0.count) }
    }

    private func append(_ text: String, to ring: LineRing) -> Int {
        ring.append(Array(text.utf8).span)
    }

    @Test func `the ring keeps the last lines`() {
        let ring = LineRing(lines: 3, bytes: 1000)
        let numbers = ["one", "two", "three", "four"].map { append($0, to: ring) }
        #expect(ring.numbers == 1..<4)
        #expect(numbers.map { text(ring, $0) } == [nil, "two", "three", "four"])
    }

    @Test func `new lines displace the oldest lines`() {
        let ring = LineRing(lines: 100, bytes: 60)
        for value in 0..<1000 {
            let line = String(value) + String(repeating: "x", count: value % 10)
            let number = append(line, to: ring)
            #expect(text(ring, number) == line)
            // Every kept line is intact: no newer line has overwritten it.
            var kept = 0
            for older in ring.numbers {
                guard let found = text(ring, older) else { continue }
                #expect(found == String(older) + String(repeating: "x", count: older % 10))
                kept += found.utf8.count
            }
            #expect(kept <= 60)
        }
    }

    @Test func `a line that is too long displaces no other`() {
        let ring = LineRing(lines: 10, bytes: 40)
        let short = append("short", to: ring)
        let long = append(String(repeating: "x", count: 11), to: ring)
        #expect(text(ring, short) == "short")
        #expect(text(ring, long) == nil)
    }
}
