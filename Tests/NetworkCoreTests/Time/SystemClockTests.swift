import Testing

@testable import NetworkCore

@Suite struct SystemClockTests {
    @Test(
        arguments: [
            (late: 0, pause: 0), (0.9, 0), (1, 1), (35, 1), (100_000, 1),
        ] as [(Double, Double)]
    )
    func `a wait that ends during a standstill leaves a second for pending events`(
        late: Double,
        pause: Double
    ) {
        let deadline = ContinuousClock.now
        let found = SystemClock.catchUp(
            after: deadline,
            begun: deadline - .seconds(1),
            at: deadline + .seconds(late)
        )
        #expect(found == .seconds(pause))
    }

    @Test func `a deadline in the past is no standstill`() {
        let start = ContinuousClock.now
        let deadline = start - .seconds(60)
        #expect(SystemClock.catchUp(after: deadline, begun: start, at: start) == .zero)
    }
}
