import NetworkCore
import TestSupport

@testable import OAuth

/// A token engine in a state of the table, with the time that the state needs.
struct EngineModel {
    private(set) var engine: TokenEngine
    /// The actions since the last event, without publishing the snapshot.
    private(set) var actions: [String] = []
    var now = ManualClock().moment
    private var renewal = RenewalInProgress(id: -1, reason: .initial)
    private var check: StoreCheck

    /// An engine that knows no token.
    init(configure: (inout OAuthConfiguration) -> Void = { _ in }) {
        var configuration = OAuthHarness.configuration(.refreshToken(initial: Secret("seed")))
        configure(&configuration)
        engine = TokenEngine(configuration)
        check = engine.beginStoreCheck()
    }

    init(_ token: TokenEngineTests.TokenState, _ activity: TokenEngineTests.Activity) {
        self.init()
        if token != .none { issue("token-1") }
        switch token {
        case .none, .fresh: now = now + .seconds(1)
        case .stale: now = now + .seconds(3400)
        case .due: now = now + .seconds(3580)
        case .expired: now = now + .seconds(3601)
        case .suspected: _ = refuse(.suspected)
        case .refused: _ = refuse(.refused)
        }
        switch activity {
        case .idle: end(with: .startOver)
        case .renewing: begin(.early)
        case .trial:
            _ = refuse(.refused)
            let token = issue("token-2")
            if let renewal = engine.renewal { handle(.renewalEnded(renewal, token, waiting: 9)) }
        case .paused:
            begin(.early)
            end(with: fail())
        case .excess:
            for _ in 0..<5 { engine.note(.init(time: now.steady, replacedAcceptedToken: false)) }
            end(with: engine.excess(at: now) ?? .startOver)
        case .dead:
            begin(.early)
            end(with: engine.markDead(dead, at: now))
        }
        check = engine.beginStoreCheck()
        take(engine.takeActions())
        actions = []
    }

    // MARK: - Events

    mutating func happen(_ event: TokenEngineTests.Event) -> String {
        actions = []
        switch event {
        case .request: return admit()
        case .secondRequest:
            _ = admit()
            return admit()
        case .answer: handle(.responded(generation: engine.generation, .accepted))
        case .refusal: return refuse(.refused)
        case .unexplainedRefusal: return refuse(.suspected)
        case .refusedReplay: return refuse(.refused, .afterReplay)
        case .refusalOfOlderToken: return refuse(.refused, of: engine.generation - 1)
        case .staleRead: handle(.staleTokenRead)
        case .newToken: return words(end(with: issue("token-3")))
        case .sameToken: return words(end(with: issue("token-1")))
        case .failure: return words(end(with: fail()))
        case .invalidGrant: return words(end(with: engine.markDead(dead, at: now)))
        case .overdue: handle(.renewalOverdue(renewal, jitter: 0))
        case .signOut:
            let found = engine.record?.signedOut(at: now.wall)
            handle(.storeChecked(found, since: check, jitter: 0))
        case .loss: handle(.storeChecked(nil, since: check, jitter: 0))
        }
        return ""
    }

    mutating func admit() -> String {
        defer { take(engine.takeActions()) }
        return switch engine.admit(at: now) {
        case .credential: "token"
        case .wait(.renewal): "wait"
        case .wait(.trial): "wait for trial"
        case .refused(.dead): "refused: dead"
        case .refused(.paused): "refused: paused"
        }
    }

    mutating func refuse(
        _ doubt: TokenStanding.Doubt,
        _ intent: Rejection.Intent = .replay,
        of generation: Int? = nil
    ) -> String {
        let refused = generation ?? engine.generation
        defer { take(engine.takeActions()) }
        return switch engine.judge(doubt, of: refused, intent, at: now) {
        case .verdict(.passThrough(let reason)): reason.rawValue
        case .verdict(.replay): "replay"
        case .verdict: "another verdict"
        case .wait(.renewal): "wait"
        case .wait(.trial): "wait for trial"
        }
    }

    mutating func handle(_ event: TokenEvent) { take(engine.handle(event, at: now)) }

    /// Puts a token of an hour in force.
    @discardableResult
    mutating func issue(_ token: String) -> RenewalOutcome {
        let response = TokenResponse(accessToken: Secret(token), lifetime: .seconds(3600))
        let grant = TokenGrant.refreshToken(Secret("seed"))
        let reason = engine.renewal?.reason ?? .initial
        let issued = IssuedToken(response, for: grant, reason, in: engine, sent: now, jitter: 0)
        guard let issued else { return .startOver }
        defer { take(engine.takeActions()) }
        let record = engine.record(
            with: .tokens(issued.token, response, for: grant, reason)
        )
        if let draft = engine.stage(record, presented: Secret("seed")) {
            engine.apply(.saved(draft))
        }
        return engine.install(issued, began: now.steady, at: now)
    }

    /// Fails a token request; the pause is a minute.
    mutating func fail() -> RenewalOutcome {
        var failure = TokenFailure(.transient, detail: "503")
        failure.retryAfter = .seconds(60)
        defer { take(engine.takeActions()) }
        return engine.fail(failure, jitter: 0, at: now)
    }

    /// Finds a token of an hour in the store.
    mutating func adopt(_ token: String) -> String {
        actions = []
        var record = engine.record(with: .refreshToken(Secret("refresh")))
        record.revision += 1
        record.accessTokens[engine.configuration.credentialKey] = TokenRecord.AccessToken(
            value: Secret(token),
            issuedAt: now.wall,
            expiresAt: now.wall + .seconds(3600),
            scope: nil
        )
        engine.learn(record)
        let outcome = engine.adopt(for: .external, 0, at: now)
        take(engine.takeActions())
        return outcome.map { words($0) } ?? "none"
    }

    private var dead: OAuthFailure {
        OAuthFailure(kind: "invalid_grant", detail: "revoked", at: now.wall)
    }

    private mutating func begin(_ reason: OAuthEvent.Reason) {
        renewal = engine.renewal ?? engine.begin(reason)
    }

    /// Ends the renewal in progress.
    @discardableResult
    mutating func end(with outcome: RenewalOutcome) -> RenewalOutcome {
        take(engine.takeActions())
        if let renewal = engine.renewal { handle(.renewalEnded(renewal, outcome, waiting: 1)) }
        return outcome
    }

    // MARK: - The result

    var tokenState: TokenEngineTests.TokenState {
        guard let token = engine.current else { return .none }
        switch token.standing.doubt {
        case .suspected: return .suspected
        case .refused: return .refused
        case .none: break
        }
        if token.token.expiresAt?.isReached(at: now) == true { return .expired }
        if token.isDue(at: now) { return .due }
        return token.isStale(at: now) ? .stale : .fresh
    }

    var activity: TokenEngineTests.Activity {
        if engine.renewal != nil { return .renewing }
        if engine.trial != nil { return .trial }
        switch engine.backoff.refusal(at: now) {
        case .dead: return .dead
        case .paused: return engine.backoff.isExcess ? .excess : .paused
        case nil: return .idle
        }
    }

    private mutating func take(_ next: [TokenAction]) { actions += next.compactMap(words) }

    private func words(_ action: TokenAction) -> String? {
        switch action {
        case .publish: nil
        case .report(.refreshed): "refreshed"
        case .report(.failed): "failed"
        case .report(.dead): "dead"
        case .report(.forgotten): "forgotten"
        case .report(.adopted): "adopted"
        case .report: "another event"
        case .startRenewal(let renewal): "renew \(renewal.reason.rawValue)"
        case .endRenewal(_, let outcome): "end renewal: \(words(outcome))"
        case .abandonRenewal(_, let outcome): "abandon renewal: \(words(outcome))"
        case .startTrial: "start trial"
        case .endTrial(let outcome): "end trial: \(words(outcome))"
        case .startPause: "start pause"
        case .endPause: "end pause"
        case .write: "write"
        case .unprove: "unprove"
        }
    }

    private func words(_ outcome: RenewalOutcome) -> String {
        switch outcome {
        case .credential: "token"
        case .sameToken: "same token"
        case .refusedAgain: "refused again"
        case .failed: "failed"
        case .dead: "dead"
        case .startOver: "start over"
        }
    }
}
