import NetworkCore
import TestSupport
import Testing

@testable import OAuth

/// Walks the table "A token request is refused" of the article "The token engine".
@Suite struct RenewalPlanTests {
    private typealias Remedy = RenewalPlan.Remedy
    private typealias Refusal = RenewalPlan.Refusal

    /// The refusals of the table.
    private enum Response: String, CaseIterable {
        case proof = "proof refused"
        case proofOfMadeGrant = "proof of a made grant refused"
        case secret = "secret refused"
        case secretOrTime = "secret or time refused"
        case time = "time refused"
        case lost = "lost"
        case lostTooLate = "lost too late"
        case refreshToken = "refresh token refused"
        case other = "another refusal"

        var refusal: Refusal {
            switch self {
            case .proof: Refusal(remedies: [.newProof], effect: .notSpent)
            case .proofOfMadeGrant, .time:
                Refusal(remedies: [.newSignature], effect: .notSpent)
            case .secret: Refusal(remedies: [.newSecret], effect: .notSpent)
            case .secretOrTime:
                Refusal(remedies: [.newSecret, .newSignature], effect: .notSpent)
            case .lost: Refusal(remedies: [.repetition], effect: .mayBeSpent)
            case .lostTooLate: Refusal(remedies: [], effect: .mayBeSpent)
            case .refreshToken: Refusal(remedies: [.otherToken], effect: .tokenRefused)
            case .other: Refusal(remedies: [], effect: .notSpent)
            }
        }
    }

    /// Columns: the response; remedies that are used (+) or not (-), the others being either; whether an
    /// earlier presentation is open; the next step.
    private static let table = """
        proof refused                 | -new proof                     |       | send
        proof refused                 | +new proof                     | known | end: pause and retract
        proof refused                 | +new proof                     | open  | end: pause
        proof of a made grant refused | -new signature                 |       | retract and present
        proof of a made grant refused | +new signature                 | known | end: pause and retract
        proof of a made grant refused | +new signature                 | open  | end: pause
        secret refused                | -new secret                    |       | send with new secret
        secret refused                | +new secret                    | known | end: pause and retract
        secret refused                | +new secret                    | open  | end: pause
        secret or time refused        | -new secret                    |       | send with new secret
        secret or time refused        | +new secret, -new signature    |       | retract and present
        secret or time refused        | +new secret, +new signature    | known | end: pause and retract
        secret or time refused        | +new secret, +new signature    | open  | end: pause
        time refused                  | -new signature                 |       | retract and present
        time refused                  | +new signature                 | known | end: pause and retract
        time refused                  | +new signature                 | open  | end: pause
        lost                          | -repetition                    |       | present
        lost                          | +repetition                    |       | end: pause
        lost too late                 |                                |       | end: pause
        refresh token refused         | -other token                   |       | present other token
        refresh token refused         | +other token, -repetition      | known | end: death
        refresh token refused         | +other token, -repetition      | open  | end: death after a lost response
        refresh token refused         | +other token, +repetition      |       | end: death after a lost response
        another refusal               |                                | known | end: pause and retract
        another refusal               |                                | open  | end: pause
        """

    private struct Row {
        let response: Response
        let used: Set<Remedy>
        let unused: Set<Remedy>
        let history: RenewalPlan.History?
        let step: String

        init(_ text: Substring) throws {
            let cells = text.split(separator: "|", omittingEmptySubsequences: false)
                .map { $0.split(separator: " ").joined(separator: " ") }
            response = try #require(Response(rawValue: cells[0]))
            let remedies = cells[1].split(separator: ", ")
            func marked(_ mark: Character) throws -> Set<Remedy> {
                Set(
                    try remedies.filter { $0.first == mark }
                        .map { try #require(Remedy(rawValue: String($0.dropFirst()))) }
                )
            }
            used = try marked("+")
            unused = try marked("-")
            history = RenewalPlan.History(rawValue: cells[2])
            step = cells[3]
        }

        func matches(
            _ response: Response,
            _ used: Set<Remedy>,
            _ history: RenewalPlan.History
        ) -> Bool {
            response == self.response && used.isSuperset(of: self.used)
                && used.isDisjoint(with: unused) && self.history ?? history == history
        }
    }

    /// Every set of remedies.
    private static let subsets = (0..<1 << Remedy.allCases.count).map { bits in
        Set(Remedy.allCases.enumerated().filter { bits >> $0.offset & 1 == 1 }.map(\.element))
    }

    /// A plan that has used some remedies in the presentation in progress.
    private static func plan(
        having used: Set<Remedy>,
        _ history: RenewalPlan.History
    ) -> RenewalPlan {
        var plan = RenewalPlan()
        plan.present(history)
        // Another secret makes another proof possible again.
        for remedy in Remedy.allCases.reversed() where used.contains(remedy) {
            _ = plan.next(after: Refusal(remedies: [remedy], effect: .notSpent))
        }
        return plan
    }

    private static func words(_ step: RenewalPlan.NextAction) -> String {
        switch step {
        case .send: "send"
        case .sendWithNewSecret: "send with new secret"
        case .present: "present"
        case .retractAndPresent: "retract and present"
        case .presentOtherToken: "present other token"
        case .end(.pause): "end: pause"
        case .end(.pauseAndRetract): "end: pause and retract"
        case .end(.death(.known)): "end: death"
        case .end(.death(.open)): "end: death after a lost response"
        }
    }

    @Test func `every refusal in every state has the step of its only row`() throws {
        let rows = try Self.table.split(separator: "\n").map(Row.init)
        for response in Response.allCases {
            for used in Self.subsets {
                for history in RenewalPlan.History.allCases {
                    var plan = Self.plan(having: used, history)
                    #expect(plan.used == used)
                    let matching = rows.filter { $0.matches(response, used, history) }
                    let step = Self.words(plan.next(after: response.refusal))
                    #expect(matching.map(\.step) == [step], "\(response) \(used) \(history)")
                }
            }
        }
    }

    @Test func `a futile step is followed by the step of the next rule`() {
        var plan = RenewalPlan()
        plan.present(.known)
        let refusal = Response.secretOrTime.refusal
        #expect(plan.next(after: refusal) == .sendWithNewSecret)
        #expect(plan.next(after: refusal) == .retractAndPresent)
        #expect(plan.next(after: Response.refreshToken.refusal) == .presentOtherToken)
        #expect(plan.next(after: Response.refreshToken.refusal) == .end(.death(.known)))
    }

    @Test func `a new presentation may have another proof and another secret`() {
        var plan = RenewalPlan()
        plan.present(.known)
        #expect(plan.next(after: Response.proof.refusal) == .send)
        #expect(plan.next(after: Response.secret.refusal) == .sendWithNewSecret)
        #expect(plan.next(after: Response.proof.refusal) == .send)
        #expect(plan.next(after: Response.proof.refusal) == .end(.pauseAndRetract))
        plan.present(.known)
        #expect(plan.next(after: Response.proof.refusal) == .send)
        #expect(plan.next(after: Response.secret.refusal) == .sendWithNewSecret)
    }

    @Test func `a plan for one request changes only the request`() {
        for response in Response.allCases {
            var plan = RenewalPlan(Remedy.ofRequest)
            switch plan.next(after: response.refusal) {
            case .send, .sendWithNewSecret, .end: break
            case let step: Issue.record("\(response): \(step)")
            }
        }
    }

    /// Four presentations, each with two proofs for each of two secrets.
    @Test func `no server gets more than sixteen requests in a renewal`() {
        var known: [Set<RenewalPlan.Remedy>: Int] = [:]
        #expect(Self.longest(from: Self.plan(having: [], .known), &known) == 16)
    }

    /// The largest number of requests with which a plan may end.
    private static func longest(
        from plan: RenewalPlan,
        _ known: inout [Set<RenewalPlan.Remedy>: Int]
    ) -> Int {
        if let length = known[plan.used] { return length }
        var longest = 1
        for response in Response.allCases {
            var next = plan
            switch next.next(after: response.refusal) {
            case .end: continue
            case .send, .sendWithNewSecret: break
            case .present, .retractAndPresent, .presentOtherToken: next.present(.known)
            }
            longest = max(longest, 1 + Self.longest(from: next, &known))
        }
        known[plan.used] = longest
        return longest
    }
}

/// The facts that the plan decides by, derived from the failures of token requests.
@Suite struct RefusalTests {
    private func failure(
        _ kind: TokenFailure.Class,
        _ error: String? = nil
    ) -> TokenFailure {
        var failure = TokenFailure(kind, detail: "refused")
        failure.serverError = error
        return failure
    }

    private let presentation = RenewalPlan.Presentation(
        grant: .refreshToken(Secret("r")),
        use: .repeatedly
    )

    private func remedies(
        _ failure: TokenFailure,
        of presentation: RenewalPlan.Presentation? = nil,
        _ circumstances: RenewalPlan.Circumstances = .init(),
        configure: (inout OAuthConfiguration) -> Void = { _ in }
    ) -> Set<RenewalPlan.Remedy> {
        var configuration = OAuthHarness.configuration(.refreshToken(initial: nil))
        configure(&configuration)
        return RenewalPlan.Refusal(
            failure,
            of: presentation ?? self.presentation,
            configuration,
            circumstances
        ).remedies
    }

    @Test func `a refused proof needs a new one, and a grant for one use needs a new grant`() throws
    {
        let proof = ProofOfPossession(key: try SigningKey(pem: SampleKeys.p256))
        for error in ["use_dpop_nonce", "invalid_dpop_proof"] {
            let failure = failure(.transient, error)
            #expect(remedies(failure) == [])
            #expect(remedies(failure) { $0.proof = proof } == [.newProof])
            let once = RenewalPlan.Presentation(grant: presentation.grant, use: .once)
            #expect(remedies(failure, of: once) { $0.proof = proof } == [.newSignature])
        }
    }

    @Test func `a refused client may have another secret only if it is stored somewhere`() {
        let failure = failure(.configuration, "invalid_client")
        #expect(remedies(failure) == [])
        let secret = RotatingSecret(Secret("old")) { Secret("new") }
        #expect(remedies(failure) { $0.rotatingSecret = secret } == [.newSecret])
    }

    @Test func `a signature is outdated if the server's clock has turned out to be another`() {
        var failure = failure(.configuration, "invalid_client")
        func remedies(ahead seconds: Int) -> Set<RenewalPlan.Remedy> {
            self.remedies(failure, .init(clockOffset: .seconds(seconds))) {
                $0.clientAuthentication = .privateKeyJWT
            }
        }
        #expect(remedies(ahead: 0) == [])
        #expect(remedies(ahead: 3600) == [.newSignature])
        #expect(remedies(ahead: -3600) == [.newSignature])
        failure.clockOffset = .seconds(3600)
        #expect(remedies(ahead: 3600) == [], "it was signed with this time")
        failure.clockOffset = nil
        failure.mayBeSpent = true
        #expect(remedies(ahead: 3600) == [])
    }

    @Test func `a lost response is repeated within its window, for a refresh token alone`() {
        let lost = failure(.lost)
        #expect(remedies(lost, .init(elapsed: .seconds(30))) == [.repetition])
        #expect(remedies(lost, .init(elapsed: .seconds(31))) == [])
        #expect(remedies(lost) { $0.lostResponse = .wait } == [])
        let client = RenewalPlan.Presentation(
            grant: .clientCredentials(scopes: []),
            use: .repeatedly
        )
        #expect(remedies(lost, of: client) == [])
    }

    @Test func `only a refresh token can be replaced by another one from the store`() {
        let refused = failure(.invalidGrant, "invalid_grant")
        #expect(remedies(refused) == [.otherToken])
        let client = RenewalPlan.Presentation(
            grant: .clientCredentials(scopes: []),
            use: .repeatedly
        )
        #expect(remedies(refused, of: client) == [])
    }
}
