import NetproxySettings
import NetworkCore
import OAuth
import TestSupport
import Testing

/// Tests of the credential that a retry carries.
@Suite struct CredentialAttempts {
    /// Retries once after a failure, without a delay.
    private var retry: RetryInterceptor {
        var once = RetryPolicy()
        once.retries = 1
        return RetryInterceptor(
            policy: once,
            budget: RetryBudget(),
            clock: ManualClock(sleeping: .skipped)
        )
    }

    @Test(arguments: [
        (ClientCredentialPolicy.replace, "Bearer ours"),
        (.keep, "Basic a"),
    ])
    func `a retry carries the same credential as the first attempt`(
        policy: ClientCredentialPolicy,
        expected: String
    ) async throws {
        let authorizer = try StaticAuthorizer.bearer(Secret("ours"))
        let upstream = Upstream { arrived, _ in
            Response(status: arrived.request.target == "/busy" ? 503 : 200)
        }
        let interceptors: [any RequestInterceptor] = [
            retry,
            ReauthorizationInterceptor(authorizer: authorizer),
            // Between the retry and the credential; a retry must not undo its edit.
            DefaultHeadersInterceptor(replacements: ["X-Own": "1"]),
            AuthorizationInterceptor(
                authorizer: authorizer,
                origins: [OAuthHarness.apiOrigin],
                onClientCredential: policy
            ),
        ]
        var stack = InterceptorStack()
        stack.retry = retry
        stack.signing = InterceptorStack.Signing(
            by: authorizer,
            for: OAuthHarness.apiOrigin,
            replayLimit: 64 * 1024
        )
        stack.signing?.onClientCredential = policy
        let chains = [
            RequestChain(interceptors, transport: upstream),
            RequestChain(
                interceptors.filter { !($0 is DefaultHeadersInterceptor) },
                transport: upstream
            ),
            stack.chain(to: upstream),
        ]
        for chain in chains {
            for target in ["/", "/busy"] {
                var context = RequestContext()
                let request = Request(
                    origin: OAuthHarness.apiOrigin,
                    target: target,
                    headers: [.authorization: "Basic a", "X-App": "x"]
                )
                _ = try await chain.send(request, context: &context)
                #expect(context.authorization?.overrodeClient == (policy == .replace ? true : nil))
            }
            let last = upstream.arrived.suffix(2).map(\.request)
            #expect(last.map(\.target) == ["/busy", "/busy"])
            #expect(last[0].headers == last[1].headers)
            #expect(last[1].headers.values(of: .authorization) == [expected])
        }
    }

    @Test(arguments: [
        ClientCredentialPolicy.replace, .keep, .reject,
    ])
    func `a retry does not mistake our credential for the client's`(
        policy: ClientCredentialPolicy
    ) async throws {
        let authorizer = try StaticAuthorizer.bearer(Secret("ours"))
        let key = try StaticAuthorizer.header("X-Api-Key", Secret("key"))
        let upstream = Upstream { _, count in Response(status: count == 1 ? 503 : 200) }
        let elsewhere = Origin(scheme: .https, host: "elsewhere.example")
        let chain = RequestChain(
            [
                retry,
                AuthorizationInterceptor(
                    authorizer: authorizer,
                    origins: [OAuthHarness.apiOrigin],
                    onClientCredential: policy
                ),
                // It does not apply to this origin, and clears the facts of the first.
                AuthorizationInterceptor(authorizer: key, origins: [elsewhere]),
            ],
            transport: upstream
        )
        // The first exchange proves the credential.
        for attempts in [1, 2] {
            var context = RequestContext()
            let request = Request(origin: OAuthHarness.apiOrigin, target: "/", headers: ["X": "y"])
            let response = try await chain.send(request, context: &context)
            #expect(response.status == 200)
            #expect(context.attempts == attempts)
        }
        for arrived in upstream.arrived {
            #expect(arrived.request.headers == ["X": "y", "Authorization": "Bearer ours"])
        }
    }

    @Test func `a retry does not report an overridden credential`() async throws {
        let authorizer = try StaticAuthorizer.bearer(Secret("ours"))
        let upstream = Upstream { _, count in Response(status: count == 1 ? 503 : 200) }
        let chain = RequestChain(
            [
                retry,
                AuthorizationInterceptor(
                    authorizer: authorizer,
                    origins: [OAuthHarness.apiOrigin]
                ),
            ],
            transport: upstream
        )
        for _ in 1...2 {
            var context = RequestContext()
            let request = Request(origin: OAuthHarness.apiOrigin, target: "/")
            _ = try await chain.send(request, context: &context)
            #expect(context.authorization?.overrodeClient == false)
        }
        #expect(upstream.arrived.count == 3)
    }
}
