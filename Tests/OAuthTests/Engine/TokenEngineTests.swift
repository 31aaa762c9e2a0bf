import NetworkCore
import TestSupport
import Testing

@testable import OAuth

/// Walks the tables of the article "The token engine" without actor, clock or disk.
@Suite struct TokenEngineTests {
    /// The state of the token.
    enum TokenState: String {
        case none, fresh, stale, due, expired, suspected, refused
    }

    /// The activity of the engine.
    enum Activity: String {
        case idle, renewing, trial, paused, excess, dead
    }

    enum Event: String {
        case request
        case secondRequest = "second request"
        case answer
        case refusal = "invalid_token"
        case unexplainedRefusal = "401 without reason"
        case refusedReplay = "401 to replay"
        case refusalOfOlderToken = "401 to older token"
        case staleRead = "stale read"
        case newToken = "new token"
        case sameToken = "same token"
        case failure
        case invalidGrant = "invalid_grant"
        case overdue
        case signOut = "sign-out"
        case loss
    }

    /// Columns: token, activity, event; the result for the request or the renewal; the actions of the
    /// manager, without publishing the snapshot; token and activity afterwards, if they change.
    static let table = """
        none      | idle     | request            | wait                     | renew initial
        fresh     | idle     | request            | token                    |
        stale     | idle     | request            | token                    |
        due       | idle     | request            | wait                     | renew expired
        expired   | idle     | request            | wait                     | renew expired
        suspected | idle     | request            | token                    |
        refused   | idle     | request            | wait                     | renew unauthorized
        none      | renewing | request            | wait                     |
        stale     | renewing | request            | token                    |
        due       | renewing | request            | wait                     |
        suspected | renewing | request            | token                    |
        refused   | renewing | request            | wait                     |
        fresh     | trial    | request            | token                    |
        fresh     | trial    | second request     | wait for trial           |
        none      | paused   | request            | refused: paused          |
        due       | paused   | request            | token                    |
        expired   | paused   | request            | refused: paused          |
        suspected | paused   | request            | token                    |
        refused   | paused   | request            | refused: paused          |
        refused   | excess   | request            | token                    |
        none      | dead     | request            | refused: dead            |
        due       | dead     | request            | token                    |
        expired   | dead     | request            | refused: dead            |
        suspected | dead     | request            | refused: dead            |
        refused   | dead     | request            | refused: dead            |
        fresh     | idle     | answer             |                          |
        suspected | idle     | answer             |                          |                  | fresh
        suspected | renewing | answer             |                          |                  | fresh
        suspected | dead     | answer             |                          |
        refused   | idle     | answer             |                          |
        fresh     | trial    | answer             |                          | end trial: token | | idle
        fresh     | idle     | stale read         |                          |
        stale     | idle     | stale read         |                          | renew early
        stale     | renewing | stale read         |                          |
        stale     | paused   | stale read         |                          |
        stale     | dead     | stale read         |                          |
        refused   | idle     | stale read         |                          |
        fresh     | idle     | invalid_token      | wait                     | unprove, renew unauthorized | refused
        fresh     | idle     | 401 without reason | wait                     | unprove, renew unauthorized | suspected
        fresh     | idle     | 401 to replay      | already_replayed         |
        fresh     | idle     | 401 to older token | replay                   |
        stale     | renewing | invalid_token      | wait                     | unprove | refused
        suspected | idle     | invalid_token      | wait                     | unprove, renew unauthorized | refused
        suspected | idle     | 401 without reason | wait                     | renew unauthorized
        suspected | renewing | 401 without reason | wait                     |
        refused   | renewing | invalid_token      | wait                     |
        refused   | renewing | 401 to older token | wait                     |
        fresh     | trial    | invalid_token      | wait                     | end trial: refused again, unprove, renew unauthorized | refused
        fresh     | trial    | 401 without reason | wait                     | end trial: token, unprove, renew unauthorized | suspected
        fresh     | trial    | 401 to older token | wait for trial           |
        fresh     | paused   | invalid_token      | refresh_failed           | unprove | refused
        refused   | excess   | invalid_token      | excess                   |
        refused   | dead     | invalid_token      | reauthorization_required |
        none      | idle     | 401 to older token | wait                     | renew initial
        none      | dead     | 401 to older token | reauthorization_required |
        none      | renewing | new token          | token                    | refreshed, end renewal: token | fresh | idle
        expired   | renewing | new token          | token                    | refreshed, end renewal: token | fresh | idle
        refused   | renewing | new token          | token                    | refreshed, end renewal: token | fresh | idle
        refused   | renewing | same token         | same token               | end renewal: same token       | fresh | idle
        none      | renewing | failure            | failed                   | start pause, failed, end renewal: failed | | paused
        stale     | renewing | failure            | failed                   | start pause, failed, end renewal: failed | | paused
        refused   | renewing | failure            | failed                   | start pause, failed, end renewal: failed | | paused
        stale     | renewing | invalid_grant      | dead                     | dead, end renewal: dead | | dead
        refused   | renewing | invalid_grant      | dead                     | dead, end renewal: dead | | dead
        refused   | renewing | overdue            |                          | start pause, failed, abandon renewal: failed | | paused
        fresh     | idle     | overdue            |                          |
        fresh     | idle     | sign-out           |                          | forgotten | none
        stale     | renewing | sign-out           |                          |
        fresh     | idle     | loss               |                          | another event, write |
        stale     | renewing | loss               |                          |
        """

    @Test(arguments: table.split(separator: "\n").map(String.init))
    func `the engine follows its table`(row: String) throws {
        let cells = row.split(separator: "|", omittingEmptySubsequences: false)
            .map { $0.split(separator: " ").joined(separator: " ") }
        let token = try #require(TokenState(rawValue: cells[0]))
        let activity = try #require(Activity(rawValue: cells[1]))
        var model = EngineModel(token, activity)
        #expect(model.tokenState == token)
        #expect(model.activity == activity)
        let answer = model.happen(try #require(Event(rawValue: cells[2])))
        #expect(answer == cells[3])
        #expect(model.actions.joined(separator: ", ") == cells[4])
        let next = cells.count > 5 ? TokenState(rawValue: cells[5]) : nil
        #expect(model.tokenState == next ?? token)
        let isStarted = cells[4].contains("renew ")
        let nextActivity = cells.count > 6 ? Activity(rawValue: cells[6]) : nil
        #expect(model.activity == nextActivity ?? (isStarted ? .renewing : activity))
    }

    @Test func `requests that wait for the trial of another process's token wait for the next one`()
        throws
    {
        var model = EngineModel(.refused, .renewing)
        #expect(model.adopt("stored") == "token")
        let renewal = try #require(model.engine.renewal)
        let token = try #require(model.engine.current?.credential)
        model.handle(.renewalEnded(renewal, .credential(token), waiting: 9))
        #expect(model.activity == .trial)
        _ = model.refuse(.refused)
        #expect(model.actions.contains("end trial: start over"))
        #expect(model.activity == .renewing)
    }
}
