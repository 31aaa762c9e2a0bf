import Foundation
import NetworkClient
import NetworkTesting
import Testing

/// Tests of the facts in an error.
@Suite struct ErrorTests {
    private let endpoint = PathEndpoint("/x", of: "https://a.example")

    @Test(arguments: [0, 1])
    func `the content of an error is truncated only beyond its limit`(more: Int) async throws {
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
    func `an error contains the retry time from seconds or a date`(
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

    private static var snake: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return decoder
    }

    /// An endpoint with its own decoder.
    private struct Snake: Endpoint {
        var baseURL: BaseURL { "https://a.example" }
        var path: String { "/x" }
        var decoder: (any ContentDecoding)? { ErrorTests.snake }
    }

    private struct Trouble: Decodable, Equatable {
        var errorCode: String
    }

    private let troubled = StubTransport { _ in .json(#"{"error_code":"E7"}"#, status: 422) }

    @Test func `an error is decoded with the decoder of the content`() async throws {
        var channel = NetworkChannel.stubbed(troubled)
        let own = await #expect(throws: NetworkError.self) {
            try await NetworkManager<Snake>(channel).send(Snake())
        }
        #expect(try own?.decode(Trouble.self) == Trouble(errorCode: "E7"))
        channel.decoder = Self.snake
        let common = await #expect(throws: NetworkError.self) {
            try await NetworkManager<PathEndpoint>(channel).send(endpoint)
        }
        #expect(try common?.decode(Trouble.self) == Trouble(errorCode: "E7"))
        let feed = NetworkManager<PathEndpoint>(channel).events(endpoint)
        let fed = await #expect(throws: NetworkError.self) { for try await _ in feed {} }
        #expect(try fed?.decode(Trouble.self) == Trouble(errorCode: "E7"))
    }

    @Test func `an explicit decoder wins, and its failure is a NetworkError`() async {
        var channel = NetworkChannel.stubbed(troubled)
        channel.decoder = Self.snake
        let error = await #expect(throws: NetworkError.self) {
            try await NetworkManager<PathEndpoint>(channel).send(endpoint)
        }
        let failure = #expect(throws: NetworkError.self) {
            try error?.decode(Trouble.self, using: JSONDecoder())
        }
        #expect(failure?.kind == .undecodableResponse)
        #expect(failure?.detail.contains("'errorCode' is missing") == true)
        #expect(failure?.response?.status == 422)
        #expect(failure?.underlying is DecodingError)
    }

    @Test func `an error contains the request without the values of its query`() async throws {
        let manager = NetworkManager<PathEndpoint>(.stubbed(troubled))
        let long = String(repeating: "x", count: 21)
        let request = Request(
            method: .put,
            origin: Origin(scheme: .https, host: "a.example", port: 444),
            target: "/x/1?page=c4nary&flag&=c4nary&\(long)"
        )
        let error = await #expect(throws: NetworkError.self) { try await manager.perform(request) }
        let url = "https://a.example:444/x/1?page&flag&&<redacted>"
        #expect(error?.request?.method == .put)
        #expect(error?.request?.url == url)
        #expect(error?.request.map { "\($0)" } == "PUT \(url)")
        #expect(error?.description.contains("a.example") == false)
    }

    @Test func `the error of every kind of call contains the request`() async throws {
        let stub = StubTransport { _ in .json("{}") }
        let manager = NetworkManager<PathEndpoint>(.stubbed(stub))
        let undecodable = await #expect(throws: NetworkError.self) {
            try await manager.request(endpoint, as: Int.self)
        }
        let feed = await #expect(throws: NetworkError.self) {
            for try await _ in manager.events(endpoint) {}
        }
        let download = await #expect(throws: NetworkError.self) {
            try await manager.download(endpoint, to: "/nowhere/at/all")
        }
        for error in [undecodable, feed, download] {
            #expect(error?.request.map { "\($0)" } == "GET https://a.example/x")
        }
        let unmade = await #expect(throws: NetworkError.self) {
            try await manager.send(PathEndpoint("/x", of: "nowhere"))
        }
        #expect(unmade != nil)
        #expect(unmade?.request == nil)
    }

    @Test func `the localized text of an error is its description`() {
        let error: any Error = NetworkError(.dnsError, side: .upstream, detail: "no such host")
        #expect(error.localizedDescription == "dns_error: no such host")
    }

    @Test func `basic authentication refuses a user name with a colon`() {
        for (name, password) in [("a:b", "c"), ("a", "c\n"), ("a\u{7F}", "c")] {
            let field = HTTPField.basic(username: name, password: Secret(password))
            let error = #expect(throws: NetworkError.self) {
                try RequestBuilder("https://a.test").headers(HTTPHeaders([field])).build()
            }
            #expect(error?.detail.contains("Authorization") == true)
        }
    }
}

extension ErrorTests {
    @Test func `an error has the status of its response, and its kind`() async throws {
        let stub = StubTransport { _ in .status(404) }
        let manager = NetworkManager<PathEndpoint>(.stubbed(stub))
        let error = await #expect(throws: NetworkError.self) {
            try await manager.send(PathEndpoint("/a", of: "https://api.example.com"))
        }
        #expect(error?.status == 404)
        #expect(error?.isTimeout == false && error?.isConnection == false)
        let refused = NetworkError(.connectionRefused, side: .upstream, detail: "refused")
        #expect(refused.status == nil && refused.isConnection && !refused.isTimeout)
        let slow = NetworkError(.httpResponseTimeout, side: .upstream, detail: "slow")
        #expect(slow.isTimeout && !slow.isConnection)
        let unreachable = NetworkError(.connectionTimeout, side: .upstream, detail: "slow")
        #expect(unreachable.isTimeout && unreachable.isConnection)
    }
}
