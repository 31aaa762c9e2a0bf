import NetworkCore
import Synchronization
import TestSupport
import Testing

/// Tests of several credentials for one API, and of the choice among them.
@Suite struct Fallbacks {
    private let clock = ManualClock()
    private let origin = Origin(scheme: .https, host: "api.example")

    /// A credential that never changes, with its own clock.
    private struct Key: Authorizing {
        let kind = "bearer"
        let fieldName = HTTPFieldName.authorization
        let clock: any NetworkClock
        let name: String
        var lack: ErrorKind?
        let asked = Counter()
        private let credential: Credential?

        init(_ name: String, _ clock: any NetworkClock, lack: ErrorKind? = nil) {
            (self.name, self.clock, self.lack) = (name, clock, lack)
            credential = Credential(.authorization, Secret("Bearer \(name)"))
        }

        func currentCredential() -> Credential? { lack == nil ? credential : nil }

        func credential(until deadline: ContinuousClock.Instant?) async throws -> Credential {
            _ = asked.next()
            guard let credential, lack == nil else {
                throw NetworkError(lack ?? .cancelled, side: .proxy, detail: "none")
            }
            return credential
        }

        func rejected(_ rejection: Rejection) async -> Verdict {
            .passThrough(.staticCredential)
        }
    }

    private func chain(_ keys: [Key], to upstream: Upstream) -> RequestChain {
        var stack = InterceptorStack()
        let signings = keys.map { key in
            var signing = InterceptorStack.Signing(by: key, for: origin, replayLimit: 1024)
            signing.identity = key.name
            return signing
        }
        stack.signing = signings[0]
        stack.spareSignings = Array(signings.dropFirst())
        return stack.chain(to: upstream)
    }

    private func keys(_ names: String...) -> [Key] { names.map { Key($0, clock) } }

    /// Returns an upstream with a response for each key, 200 by default.
    private func upstream(
        _ answers: @escaping @Sendable (String) -> Response?
    ) -> Upstream {
        Upstream { arrived, _ in
            let key = arrived.token.map { String($0.dropFirst("Bearer ".count)) } ?? ""
            return answers(key) ?? Response(status: 200, body: .bytes(ByteSlice(key)))
        }
    }

    private func text(_ response: Response) async throws -> String {
        let content = try await response.body.collect(upTo: 1024)
        return String(decoding: content.array, as: UTF8.self)
    }

    @Test(arguments: [429, 402, 401] as [HTTPStatus])
    func `a limited or dead credential is replaced by the next one`(status: HTTPStatus) async throws
    {
        let upstream = upstream { $0 == "a" ? Response(status: status) : nil }
        let (response, context) = try await chain(keys("a", "b"), to: upstream)
            .exchange(.forTests())
        #expect(try await text(response) == "b")
        #expect(context.retries == [.status(status)])
        #expect(context.attempts == 2)
        #expect(context.authorization?.identity == "b")
    }

    @Test(arguments: [ErrorKind.credentialUnavailable, .reauthorizationRequired])
    func `a credential without a token is skipped and costs no attempt`(
        lack: ErrorKind
    ) async throws {
        let keys = [Key("a", clock, lack: lack), Key("b", clock)]
        let (response, context) = try await chain(keys, to: upstream { _ in nil })
            .exchange(.forTests())
        #expect(try await text(response) == "b")
        #expect(context.retries == [])
        #expect(context.attempts == 1)
    }

    @Test func `a limited credential cools down for the duration in Retry-After`() async throws {
        let limited = Mutex(true)
        let upstream = upstream { key in
            guard key == "a", limited.withLock({ $0 }) else { return nil }
            return Response(status: 429, headers: [.retryAfter: "30"])
        }
        let chain = chain(keys("a", "b"), to: upstream)
        func used() async throws -> (String, Int) {
            let (response, context) = try await chain.exchange(.forTests())
            return (try await text(response), context.attempts)
        }
        #expect(try await used() == ("b", 2))
        #expect(try await used() == ("b", 1))
        limited.withLock { $0 = false }
        clock.advance(by: .seconds(29))
        #expect(try await used() == ("b", 1))
        clock.advance(by: .seconds(1))
        #expect(try await used() == ("a", 1))
    }

    @Test func `without Retry-After the cool-down is one second and doubles`() async throws {
        let upstream = upstream { $0 == "a" ? Response(status: 429) : nil }
        let chain = chain(keys("a", "b"), to: upstream)
        var attempts: [Int] = []
        for _ in 0..<8 {
            let (_, context) = try await chain.exchange(.forTests())
            attempts.append(context.attempts)
            clock.advance(by: .seconds(1))
        }
        // The key is tried again after 1 s, after 2 s and after 4 s.
        #expect(attempts == [2, 2, 1, 2, 1, 1, 1, 2])
    }

    @Test func `if all credentials are limited, the upstream's response is returned`() async throws
    {
        let waits = ["a": "30", "b": "60"]
        let upstream = upstream { key in
            Response(
                status: 429,
                headers: [.retryAfter: waits[key] ?? ""],
                body: .bytes(ByteSlice(key))
            )
        }
        let chain = chain(keys("a", "b"), to: upstream)
        let (first, context) = try await chain.exchange(.forTests())
        #expect(first.status == 429)
        // The response to the credential that is usable again first.
        #expect(first.headers[.retryAfter] == "30")
        #expect(context.attempts == 2)
        // Both cool down: the one that finishes first is sent, without a delay.
        let (second, later) = try await chain.exchange(.forTests())
        #expect(second.headers[.retryAfter] == "30")
        #expect(later.attempts == 1)
    }

    @Test func `a response of the upstream wins over a missing last credential`()
        async throws
    {
        let keys = [Key("a", clock), Key("b", clock, lack: .credentialUnavailable)]
        let upstream = upstream { _ in
            Response(status: 429, headers: [.retryAfter: "9"], body: .bytes(ByteSlice("slow")))
        }
        let (response, context) = try await chain(keys, to: upstream).exchange(.forTests())
        #expect(response.status == 429)
        #expect(response.headers[.retryAfter] == "9")
        #expect(try await text(response) == "slow")
        #expect(context.attempts == 1)
        #expect(context.retries == [])
    }

    @Test func `an unavailable token cools down before the next request for it`() async throws {
        let keys = [Key("a", clock, lack: .credentialUnavailable), Key("b", clock)]
        let chain = chain(keys, to: upstream { _ in nil })
        let asked = keys[0].asked
        for _ in 0..<5 { _ = try await chain.exchange(.forTests()) }
        #expect(asked.current == 1)
        clock.advance(by: .seconds(1))
        _ = try await chain.exchange(.forTests())
        #expect(asked.current == 2)
    }

    @Test func `the response to the client's own credential is final`() async throws {
        var stack = InterceptorStack()
        let signings = keys("a", "b").map { key in
            var signing = InterceptorStack.Signing(by: key, for: origin, replayLimit: 1024)
            signing.onClientCredential = .keep
            return signing
        }
        stack.signing = signings[0]
        stack.spareSignings = [signings[1]]
        var request = Request.forTests()
        request.headers.append(.authorization, validated: "Bearer own")
        let upstream = upstream { _ in Response(status: 429) }
        let (response, context) = try await stack.chain(to: upstream).exchange(request)
        #expect(response.status == 429)
        #expect(context.attempts == 1)
    }

    @Test func `preferred credentials are tried first`() async throws {
        let upstream = upstream { $0 == "c" ? Response(status: 429) : nil }
        let chain = chain(keys("a", "b", "c"), to: upstream)
        var context = RequestContext()
        context.preferredAccounts = 0b100
        let response = try await chain.send(.forTests(), context: &context)
        #expect(try await text(response) == "a")
        #expect(context.earlierAttempts.map(\.identity) == ["c"])
    }

    @Test func `a client may be limited to some of the credentials`() async throws {
        let chain = chain(keys("a", "b", "c"), to: upstream { _ in nil })
        for (places, expected) in [(0b111, "a"), (0b110, "b"), (0b100, "c")] as [(UInt64, String)] {
            var context = RequestContext()
            context.accounts = places
            let response = try await chain.send(.forTests(), context: &context)
            #expect(try await text(response) == expected)
        }
    }

    @Test(arguments: [true, false])
    func `content up to the limit is kept for the next credential`(fits: Bool) async throws {
        let upstream = Upstream { arrived, _ in
            guard arrived.token == "Bearer b" else { return Response(status: 429) }
            return Response(status: 200, body: .bytes(ByteSlice(arrived.body)))
        }
        let pieces = [String](repeating: "x", count: fits ? 1000 : 2000)
        var request = Request.forTests()
        request.body = .stream(PiecedBody(pieces), length: nil)
        let (response, _) = try await chain(keys("a", "b"), to: upstream).exchange(request)
        #expect(response.status == (fits ? 200 : 429))
        if fits { #expect(try await text(response).count == 1000) }
    }
}
