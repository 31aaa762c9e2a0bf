import NetworkCore
import TestSupport
import Testing

@testable import OAuth

/// The distinct histories of a token, and the pauses in renewals that follow.
@Suite struct TokenStandingTests {
    let now = ManualClock().moment

    @Test func `doubt only rises until a request is answered`() {
        var standing = TokenStanding(.issued)
        #expect(standing.raise(.suspected) == true)
        #expect(standing.raise(.suspected) == false)
        #expect(standing.raise(.refused) == true)
        #expect(standing.raise(.suspected) == false)
        standing.clearSuspicion()
        #expect(standing.doubt == .refused)
    }

    @Test func `a suspicion ends with a successful response`() {
        var standing = TokenStanding(.issued)
        #expect(standing.raise(.suspected) == true)
        standing.clearSuspicion()
        #expect(standing.doubt == .none)
    }

    @Test func `an adopted token keeps its standing when a replay is refused`() {
        var standing = TokenStanding(.adopted)
        standing.noteRefusedReplay(.init(failedRenewals: 1, at: now))
        #expect(standing.provenance == .adopted)
        guard case .over = standing.coolDown(at: now) else {
            Issue.record("renewals of an adopted token pause")
            return
        }
    }

    @Test(arguments: [(1, 10), (2, 20), (3, 40), (4, 60), (100, 60)])
    func `the pause after unexplained 401s doubles with each token up to a minute`(
        failedRenewals: Int,
        seconds: Int
    ) {
        let coolDown = TokenStanding.CoolDown(failedRenewals: failedRenewals, at: now)
        #expect(coolDown.end == now.steady + .seconds(10))
        #expect(coolDown.suspicionEnd == now.steady + .seconds(seconds))
    }

    @Test func `a refused replay overrides the pause of a token returned again`() {
        var standing = TokenStanding(.returnedAgain(end: now.steady + .seconds(10)))
        standing.noteRefusedReplay(.init(failedRenewals: 2, at: now + .seconds(9)))
        #expect(standing.isRefusedOnReplay)
        guard case .active = standing.coolDown(at: now + .seconds(18)) else {
            Issue.record("renewals do not pause")
            return
        }
    }
}
