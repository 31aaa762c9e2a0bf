import Foundation
import NetworkCore
import Testing

@testable import NetproxyPath

/// Errors as a client receives them.
@Suite struct ErrorResponderTests {
    private func response(_ kind: ErrorKind, retryAfter: Int? = nil, detail: String = "d")
        -> Response
    {
        let error = NetworkError(kind, side: .proxy, detail: detail, retryAfter: retryAfter)
        return ErrorResponder.response(
            to: error,
            channel: "orders",
            signIn: "netproxy login orders",
            requestID: "r1"
        )
    }

    @Test(
        arguments: [
            (.reauthorizationRequired, nil, nil), (.connectionLimitReached, nil, "1"),
            (.credentialUnavailable, 42, "42"), (.credentialUnavailable, 0, "1"),
            (.connectionRefused, nil, nil), (.httpResponseTimeout, nil, nil),
        ] as [(ErrorKind, Int?, String?)]
    )
    func `a 503 has Retry-After if a retry can help`(
        kind: ErrorKind,
        retryAfter: Int?,
        field: String?
    ) {
        #expect(response(kind, retryAfter: retryAfter).headers[.retryAfter] == field)
    }

    @Test func `an error that requires a sign-in contains the command`() async throws {
        let response = response(.reauthorizationRequired, detail: "there is no token; sign in")
        let body = try await response.body.collect(upTo: 1 << 16)
        let problem = try #require(
            try JSONSerialization.jsonObject(with: Data(body.array)) as? [String: Any]
        )
        let detail = problem["detail"] as? String
        #expect(detail == "there is no token; sign in: netproxy login orders")
    }

    @Test func `every detail is valid JSON`() async throws {
        let detail = String(decoding: 1...0x7F, as: UTF8.self) + "ü\u{2028}"
        let body = try await response(.connectionRefused, detail: detail).body
            .collect(upTo: 1 << 16)
        let problem = try #require(
            try JSONSerialization.jsonObject(with: Data(body.array)) as? [String: Any]
        )
        #expect(problem["detail"] as? String == detail)
        #expect(problem["status"] as? Int == 502)
    }
}
