import Glibc
import Testing

@testable import NetproxyEventIO

/// Tests that a peer counts as gone by missing TCP acknowledgments, not by the duration of a response.
@Suite struct PeerLivenessTests {
    private static let second: UInt64 = 1_000_000_000

    private static func data(unanswered: Bool, silentFor seconds: UInt64) -> SentData {
        SentData(isDelivered: false, isUnanswered: unanswered, silence: seconds * second)
    }

    private static func looks(
        _ looks: [(at: UInt64, unanswered: Bool, silence: UInt64)]
    ) -> [Bool] {
        var liveness = PeerLiveness()
        return looks.map {
            let data = data(unanswered: $0.unanswered, silentFor: $0.silence)
            return liveness.isGone(data, at: $0.at * second)
        }
    }

    @Test func `a peer that acknowledges nothing for fifteen seconds is gone`() {
        #expect(
            Self.looks([(3, true, 3), (6, true, 6), (17, true, 17), (18, true, 18)])
                == [false, false, false, true]
        )
    }

    @Test func `a server that works on a response for ten minutes is alive`() {
        let looks = (1...200).map { UInt64($0 * 3) }
        let found = Self.looks(looks.map { (at: $0, unanswered: false, silence: $0) })
        #expect(!found.contains(true))
    }

    @Test func `a peer that reads nothing but acknowledges window probes is alive`() {
        // Probes are up to two minutes apart, so the last acknowledgment may be old while the next one is in
        // flight.
        #expect(
            Self.looks([(100, false, 90), (120, true, 120), (123, false, 1), (240, true, 118)])
                == [false, false, false, false]
        )
    }

    @Test func `data sent after a long idle time gets the full fifteen seconds`() {
        #expect(
            Self.looks([(600, true, 600), (603, true, 603), (614, true, 614), (615, true, 615)])
                == [false, false, false, true]
        )
    }

    @Test func `an acknowledgment restarts the fifteen seconds`() {
        #expect(
            Self.looks([
                (3, true, 3), (12, true, 12), (15, true, 1), (24, true, 10), (30, true, 16),
            ])
                == [false, false, false, false, true]
        )
    }

    @Test(arguments: [
        (ECONNRESET, IOError.closedByPeer), (EPIPE, .closedByPeer),
        (ETIMEDOUT, .unresponsive("Connection timed out")),
        (EHOSTUNREACH, .unresponsive("No route to host")),
        (ENETDOWN, .unresponsive("Network is down")),
        (ENOBUFS, .system("No buffer space available")),
        (ENOMEM, .system("Cannot allocate memory")),
    ])
    func `the error of a connection tells whether the peer or the system failed`(
        code: Int32,
        fault: IOError
    ) {
        #expect(IOError(ofConnection: code) == fault)
    }
}
