import NetworkCore
import TestSupport
import Testing

@testable import OAuth

/// States that take several events to reach.
@Suite struct TokenEngineHistoryTests {
    @Test func `a second 401 soon after a death renews nothing, a later one looks again`() {
        var model = EngineModel(.refused, .dead)
        model.now = model.now + .seconds(4)
        #expect(model.happen(.refusal) == "reauthorization_required")
        #expect(model.actions == [])
        model.now = model.now + .seconds(1)
        #expect(model.happen(.refusal) == "wait")
        #expect(model.actions == ["renew unauthorized"])
    }

    @Test func `a dead credential whose second look failed stays dead after the pause`() {
        var model = EngineModel(.none, .dead)
        model.now = model.now + .seconds(5)
        #expect(model.happen(.request) == "wait")
        #expect(model.happen(.failure) == "failed")
        #expect(model.happen(.request) == "refused: paused")
        #expect(OAuthStatus(model.engine, at: model.now).state == .dead)
        #expect(model.engine.backoff.death != nil)
    }

    @Test func `after a refused replay a 401 renews nothing for ten seconds`() {
        var model = EngineModel(.fresh, .idle)
        #expect(model.happen(.refusedReplay) == "already_replayed")
        model.now = model.now + .seconds(9)
        #expect(model.happen(.refusal) == "token_refused_again")
        model.now = model.now + .seconds(1)
        #expect(model.happen(.refusal) == "wait")
    }

    @Test func `a token returned again pauses renewals for ten seconds`() {
        var model = EngineModel(.refused, .renewing)
        #expect(model.happen(.sameToken) == "same token")
        model.now = model.now + .seconds(9)
        #expect(model.happen(.refusal) == "token_refused_again")
        model.now = model.now + .seconds(1)
        #expect(model.happen(.refusal) == "wait")
    }

    @Test func `an unexplained 401 beside answered requests is about that resource`() {
        var model = EngineModel(.fresh, .idle)
        #expect(model.happen(.refusedReplay) == "already_replayed")
        model.now = model.now + .seconds(61)
        let credential = model.engine.current?.credential
        #expect(credential?.prove() == true)
        #expect(model.happen(.unexplainedRefusal) == "token_refused_again")
        #expect(model.actions == ["unprove"])
        credential?.unprove()
        #expect(model.happen(.unexplainedRefusal) == "wait")
    }

    @Test func `the late end of an abandoned renewal does not end its successor`() throws {
        var model = EngineModel(.refused, .renewing)
        let late = try #require(model.engine.renewal)
        #expect(model.happen(.overdue) == "")
        model.now = model.now + .seconds(2)
        #expect(model.happen(.request) == "wait")
        let successor = model.engine.renewal
        #expect(successor != late)
        model.handle(.renewalEnded(late, .startOver, waiting: 0))
        #expect(model.engine.renewal == successor)
    }

    @Test func `no request is counted as waiting for a trial that has ended`() {
        var model = EngineModel(.fresh, .trial)
        #expect(model.happen(.refusal) == "wait")
        #expect(model.engine.trial == nil)
        #expect(model.happen(.request) == "wait")
    }

    @Test func `a token that another process stored is adopted during the pause`() {
        var model = EngineModel(.expired, .paused)
        #expect(model.adopt("stored") == "token")
        #expect(model.actions == ["end pause", "adopted"])
        #expect(model.tokenState == .fresh)
        #expect(model.activity == .idle)
        // Its quality is unknown here: a refused replay does not pause the renewals.
        #expect(model.happen(.refusedReplay) == "already_replayed")
        #expect(model.actions == ["unprove", "renew unauthorized"])
    }

    @Test func `a check finds nothing new in a store that changed during a renewal`() {
        var model = EngineModel(.fresh, .idle)
        let check = model.engine.beginStoreCheck()
        model.now = model.now + .seconds(3580)
        #expect(model.happen(.request) == "wait")
        #expect(model.happen(.newToken) == "token")
        model.handle(.storeChecked(nil, since: check, jitter: 0))
        #expect(model.tokenState == .fresh)
    }

    @Test func `forgetting takes the token out of force and counts it`() {
        var model = EngineModel(.fresh, .idle)
        let generation = model.engine.generation
        model.handle(.forgetting)
        model.handle(.removalEnded)
        #expect(model.tokenState == .none)
        #expect(model.engine.generation == generation + 1)
        #expect(model.engine.record == nil)
    }
}
