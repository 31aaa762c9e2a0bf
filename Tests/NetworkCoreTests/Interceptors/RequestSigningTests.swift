import NetworkCore
import Synchronization
import TestSupport
import Testing

/// Tests of credentials that sign the whole request.
@Suite struct RequestSignings {
    /// Signs with a serial number, and records the statuses of the responses.
    private final class Signer: RequestSigning {
        private let state = Mutex((signatures: 0, statuses: [HTTPStatus]()))

        var statuses: [HTTPStatus] { state.withLock { $0.statuses } }

        func sign(_ request: inout Request) async throws {
            let number = state.withLock { state in
                state.signatures += 1
                return state.signatures
            }
            request.headers.remove(HTTPFieldName.authorization)
            try request.headers.set("X-Signature", "\(number)")
        }

        func learn(from response: borrowing Response) {
            let status = response.status
            state.withLock { $0.statuses.append(status) }
        }
    }

    private struct Authorizer: Authorizing {
        let kind = "signed"
        let fieldName = HTTPFieldName.authorization
        let signer: Signer
        let verdict: Verdict

        func currentCredential() -> Credential? {
            Credential(signing: signer, secrets: [Secret("key")], generation: 1, issuedAt: nil)
        }

        func credential(until deadline: ContinuousClock.Instant?) async throws -> Credential {
            throw NetworkError.cancelled
        }

        func rejected(_ rejection: Rejection) async -> Verdict { verdict }
    }

    @Test(arguments: [
        (Verdict.signAgain, [RetryReason.clockSkew], ["1", "2"]),
        (.replay, [.unauthorized], ["1", "2"]),
        (.passThrough(.sameToken), [], ["1"]),
    ])
    func `each attempt is signed anew, once more after a refusal for clock skew`(
        verdict: Verdict,
        retries: [RetryReason],
        signatures: [String]
    ) async throws {
        let signer = Signer()
        let authorizer = Authorizer(signer: signer, verdict: verdict)
        let arrived = Mutex([String]())
        let upstream = Upstream { call, _ in
            #expect(call.request.headers[.authorization] == nil)
            arrived.withLock { $0.append(call.request.headers["X-Signature"] ?? "") }
            return Response(status: 403, body: .bytes(ByteSlice("RequestExpired")))
        }
        var stack = InterceptorStack()
        stack.signing = InterceptorStack.Signing(
            by: authorizer,
            for: Origin(scheme: .https, host: "api.example"),
            replayLimit: 64 * 1024
        )
        stack.signing?.refusals = RefusalRule(statuses: [403], phrase: "RequestExpired")
        var request = Request.forTests()
        request.headers.append(.authorization, validated: "AWS4-HMAC-SHA256 of the app")
        let (response, context) = try await stack.chain(to: upstream).exchange(request)
        #expect(response.status == 403)
        #expect(context.retries == retries)
        #expect(arrived.withLock { $0 } == signatures)
        #expect(signer.statuses == signatures.map { _ in 403 })
    }
}
