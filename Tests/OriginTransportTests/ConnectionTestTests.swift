import Testing

@testable import OriginTransport

@Suite struct ConnectionTestTests {
    private let second: UInt64 = 1_000_000_000

    @Test func `a connection in doubt sends one PING and passes with the next byte`() {
        var test = ConnectionTest(interval: .seconds(300))
        let first = test.begin(afterSilenceSince: 10 * second, at: 15 * second)
        let again = test.begin(afterSilenceSince: 10 * second, at: 16 * second)
        #expect(first == .ping && again == .none && test.isRunning)
        let isOldRead = test.pass(readAt: 9 * second)
        #expect(!isOldRead && test.isRunning)
        let isNewRead = test.pass(readAt: 17 * second)
        #expect(isNewRead && !test.isRunning)
    }

    @Test func `a short silence raises no doubt`() {
        var test = ConnectionTest(interval: .seconds(300))
        let action = test.begin(afterSilenceSince: second, at: second + 400_000_000)
        #expect(action == .none && !test.isRunning)
    }

    @Test func `a second doubt within five minutes ends the use of the connection without a PING`()
    {
        var test = ConnectionTest(interval: .seconds(300))
        var actions = [test.begin(at: 100 * second)]
        _ = test.pass(readAt: 101 * second)
        actions.append(test.begin(at: 399 * second))
        actions.append(test.begin(at: 400 * second))
        #expect(actions == [.ping, .leave, .ping])
    }
}

@Suite struct StreamAdmissionTests {
    @Test func `one exchange is admitted before the settings`() {
        var admission = StreamAdmission()
        #expect(admission.count == 1 && admission.isAwaitingSettings)
        admission.completed()
        #expect(admission.count == 1)
        admission.settle(5)
        #expect(admission.count == 5 && !admission.isAwaitingSettings)
    }

    @Test func `at most 1000 exchanges are admitted`() {
        var admission = StreamAdmission()
        admission.settle(.max)
        #expect(admission.count == 1000)
    }

    @Test func `refusals lower the number, and responses raise it up to the announced limit`() {
        var admission = StreamAdmission()
        admission.settle(100)
        admission.refused(serving: 7)
        #expect(admission.count == 7)
        admission.refused(serving: 0)
        #expect(admission.count == 1)
        for _ in 0..<200 { admission.completed() }
        #expect(admission.count == 100)
    }
}
