import Foundation
import NetworkCore
import NetworkTesting
import Testing

/// What an error tells.
@Suite struct ErrorTests {
    private let endpoint = PathEndpoint("/x", of: "https://a.example")

    @Test(arguments: [0, 1])
    func `the content of an error is cut behind its limit only`(more: Int) async throws {
        let content = String(repeating: "x", count: FailedResponse.contentLimit + more)
        let stub = StubTransport { _ in .pieces([content], status: 500) }
        let manager = NetworkManager<PathEndpoint>(.stubbed(stub))
        let error = await #expect(throws: NetworkError.self) { try await manager.send(endpoint) }
        #expect(error?.response?.isTruncated == (more > 0))
        #expect(error?.response?.text.utf8.count == FailedResponse.contentLimit)
    }

    @Test(
        arguments: [
            ("9", 9), ("0", 0), ("-1", nil), ("+1", nil), ("soon", nil),
            ("Sat, 21 Nov 2026 06:00:30 GMT", 30), ("Sat, 21 Nov 2026 05:00:00 GMT", 0),
        ] as [(String, Int?)]
    )
    func `an error knows when to try again, by seconds or by a date`(
        _ text: String,
        _ seconds: Int?
    ) async throws {
        let headers = try HTTPHeaders(validating: [
            .retryAfter: text, .date: "Sat, 21 Nov 2026 06:00:00 GMT",
        ])
        let stub = StubTransport { _ in .status(429, headers: headers) }
        let error = await #expect(throws: NetworkError.self) {
            try await NetworkManager<PathEndpoint>(.stubbed(stub)).send(endpoint)
        }
        #expect(error?.retryAfter == seconds)
        #expect(headers.retryAfter() == seconds.map { .seconds($0) })
    }

    @Test func `the localized text of an error is its description`() {
        let error: any Error = NetworkError(.dnsError, side: .upstream, detail: "no such host")
        #expect(error.localizedDescription == "dns_error: no such host")
    }

    @Test func `a name with a colon is no user of basic authentication`() {
        #expect(HTTPField.basic(username: "a:b", password: Secret("c")) == nil)
        #expect(HTTPField.basic(username: "a", password: Secret("c\n")) == nil)
        #expect(HTTPField.basic(username: "a\u{7F}", password: Secret("c")) == nil)
    }
}
