import Logging
import NetproxyBytes
import NetworkClient
import NetworkTesting
import Synchronization
import TestSupport
import Testing

@Suite struct LoggingTests {
    /// Records the lines that a logger writes.
    private final class Lines: Sendable {
        private let list = Mutex<[String]>([])
        var all: [String] { list.withLock { $0 } }
        func add(_ line: String) { list.withLock { $0.append(line) } }
    }

    private struct Handler: LogHandler {
        let lines: Lines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let facts = metadata.merging(event.metadata ?? [:]) { $1 }
                .sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            lines.add("\(event.level) \(event.message) \(facts.joined(separator: " "))")
        }
    }

    private func logged(
        _ stub: StubTransport,
        _ call: (NetworkManager<PathEndpoint>) async throws -> Void
    ) async throws -> [String] {
        let lines = Lines()
        let logger = Logger(label: "test") { _ in Handler(lines: lines) }
        var channel = NetworkChannel.stubbed(
            stub,
            authorizer: try StaticAuthorizer.bearer(Secret("secret-token"))
        )
        channel.logger = SwiftLogNetworkLogger(logger)
        try? await call(NetworkManager(channel))
        return lines.all
    }

    private let endpoint = PathEndpoint(
        "/x",
        of: "https://a.example",
        task: .query(["token": "secret-query", "page": "1"] as QueryItems),
        headers: ["X-Api-Key": "secret-key", .accept: "*/*"]
    )

    @Test func `a call is logged at its start and end, without secrets`() async throws {
        let lines = try await logged(StubTransport { _ in .json("[1]") }) {
            try await $0.send(endpoint)
        }
        #expect(lines.count == 2)
        #expect(lines[0].hasPrefix("trace request started"))
        #expect(lines[1].hasPrefix("debug response received"))
        for fact in [
            "status=200", "bytes=3", "attempts=1", "method=GET", "host=a.example", "path=/x",
            "duration_ms=", "request_id=", "endpoint=GET https://a.example/x",
        ] {
            #expect(lines[1].contains(fact), "\(fact)")
        }
        #expect(!lines.joined().contains("secret"))
        #expect(lines[0].contains("page=1"))
    }

    @Test func `failures and undecodable content are logged differently`() async throws {
        let failed = try await logged(StubTransport { _ in .json("{}", status: 404) }) {
            try await $0.send(endpoint)
        }
        #expect(failed.last?.contains("request failed") == true)
        #expect(failed.last?.contains("error=unacceptable_response") == true)
        #expect(failed.last?.contains("status=404") == true)
        #expect(failed.last?.hasPrefix("notice") == true)
        let undecodable = try await logged(StubTransport { _ in .json("{}") }) {
            _ = try await $0.request(endpoint, as: Order.self)
        }
        #expect(undecodable.last?.contains("content not decodable") == true)
    }

    @Test func `a canceled call is no failure in the log`() async throws {
        let canceled = try await logged(StubTransport { _ in .failure(.cancelled) }) {
            try await $0.send(endpoint)
        }
        #expect(canceled.last?.hasPrefix("debug request failed") == true)
    }

    @Test func `a logger of swift-log is a logger of a channel`() async throws {
        let lines = Lines()
        var channel = NetworkChannel.stubbed(StubTransport { _ in .json("[1]") })
        channel.logger = Logger(label: "test") { _ in Handler(lines: lines) }
        try await NetworkManager<PathEndpoint>(channel).send(endpoint)
        #expect(lines.all.last?.hasPrefix("debug response received") == true)
    }

    @Test func `a logger is labeled by subsystem and category`() {
        let lines = Lines()
        let logger = SwiftLogNetworkLogger(subsystem: "com.example.orders", category: "network")
        let label = Mirror(reflecting: logger).descendant("logger") as? Logger
        #expect(label?.label == "com.example.orders.network")
        #expect(label?[metadataKey: "subsystem"] == "com.example.orders")
        #expect(lines.all.isEmpty)
    }

    @Test func `a request renders as a curl command without its credentials`() throws {
        let request = try RequestBuilder("https://a.example").path("/it's").method(.put)
            .query(["sig": "s3cret", "a": "b"]).header("Authorization", "Bearer s3cret")
            .header("Cookie", "s3cret").json(["k": "it's"]).build()
        #expect(
            request.curlCommand() == """
                curl -X PUT 'https://a.example/it'\\''s?sig=<redacted>&a=b' \
                -H 'Authorization: <redacted>' -H 'Cookie: <redacted>' \
                -H 'Content-Type: application/json' --data-binary @-
                """
        )
        #expect(request.curlCommand(body: .shown).contains(#"--data-raw '{"k":"it'\''s"}'"#))
    }

    @Test(arguments: [
        ("X-Amz-Security-Token", "s3cret", "<redacted>"), ("Private-Token", "s3cret", "<redacted>"),
        (
            "Referer", "https://b.example/?page=1&code=s3cret#token=s3cret",
            "https://b.example/?page=1&code=<redacted>#token=<redacted>"
        ),
        ("X-Note", "/?code=is-no-url-here", "/?code=is-no-url-here"),
    ])
    func `a field and the URLs in it are shown without credentials`(
        name: String,
        value: String,
        shown: String
    ) throws {
        let request = try RequestBuilder("https://a.example").header(name, value).build()
        #expect(request.curlCommand() == "curl https://a.example/ -H '\(name): \(shown)'")
    }

    @Test func `a target is shown without credentials in any spelling`() {
        #expect(
            Redaction.standard.target("/token=a?device_code=a&%6Bey=b&page=2&jwt=c?pwd=d&=")
                == "/token=a?device_code=<redacted>&%6Bey=<redacted>&page=2&jwt=<redacted>"
                + "?pwd=<redacted>&="
        )
    }

    @Test(arguments: [
        ("accessToken=a", "accessToken=<redacted>"), ("login%5Bpassword%5D=a", nil),
        ("access_token[]=a", nil), ("user.password=a", nil), ("Access-Token=a", nil),
        ("a=1;token=b;c", "a=1;token=<redacted>"), ("token=b;c=1&d=2", "token=<redacted>&d=2"),
        ("a;b=1;c", "a;b=1;c"),
        ("tokens=a", "tokens=a"), ("keyboard=a", "keyboard=a"), ("sort[by]=a", "sort[by]=a"),
    ])
    func `a parameter with a credential is recognized by its parts`(query: String, shown: String?) {
        let hidden = query.replacing("=a", with: "=<redacted>")
        #expect(Redaction.standard.target("/?\(query)") == "/?\(shown ?? hidden)")
        var own = Redaction.standard
        own.parameters = ["keyboard"]
        #expect(own.target("/?keyBoard=a&token=a") == "/?keyBoard=<redacted>&token=a")
    }

    @Test(arguments: [
        "Ab3+d/EfG9~h12345==", "Ab3%2Bd%2FEfG9%7Eh12345%3D%3D", "Ab3%2bd/EfG9~h12345%3d%3d",
        #"Ab3+d\/EfG9~h12345=="#, #"Ab3\u002bd/EfG9~h12345=="#, "Ab3%252Bd%252fEfG9~h12345%253D=",
        "QWIzK2QvRWZHOX5oMTIzNDU9PQ==", "dXNlcjpBYjMrZC9FZkc5fmgxMjM0NT09",
        "dXNlOkFiMytkL0VmRzl-aDEyMzQ1PT0", "dXM6QWIzK2QvRWZHOX5oMTIzNDU9PQ%3D%3D",
    ])
    func `a secret is found in any encoding`(spelling: String) {
        let secret = Secret("Ab3+d/EfG9~h12345==")
        let shown = Redaction.hiding([secret], in: "no (\(spelling)) here")
        #expect(["no (<redacted>) here", "no (<redacted>%3D%3D) here"].contains(shown))
        #expect(Redaction.hiding([secret], in: "Ab3+d/EfG9~h12345") == "Ab3+d/EfG9~h12345")
    }

    @Test(arguments: ["a%2Fb\\", "%25%25", "a b+c", "\\u0041", "%%%%", "\\\\\\\\"])
    func `a secret that looks encoded is found both plain and encoded`(text: String) {
        for spelling in [text, PercentEncoding.unreserved(text)] {
            let shown = Redaction.hiding([Secret(text)], in: "'\(spelling)%' is wrong\\")
            #expect(shown == "'<redacted>%' is wrong\\")
        }
    }

    @Test func `a secret of three letters is not redacted`() {
        #expect(Redaction.hiding([Secret("abc")], in: "abc") == "abc")
    }

    @Test func `a binary body is not shown as text`() throws {
        for bytes in [[0xFF, 0xFE, 0x41], [0x61, 0x00, 0x62]] as [[UInt8]] {
            var request = Request.forTests()
            request.body = .bytes(ByteSlice(bytes))
            #expect(request.curlCommand(body: .shown).contains("--data-binary @-"))
        }
    }

    @Test func `the description of an endpoint contains no password`() {
        let endpoint = PathEndpoint("/x", of: "https://user:s3cret@a.example/v1?token=s3cret")
        #expect(!"\(endpoint)".contains("s3cret"))
    }

    @Test func `a combining mark does not hide the end of a quoted word`() throws {
        let request = try RequestBuilder("https://a.example")
            .header("X-Note", "'\u{301}; touch pwned").build()
        #expect(
            request.curlCommand()
                == #"curl https://a.example/ -H 'X-Note: '\''"# + "\u{301}; touch pwned'"
        )
    }

    @Test func `the curl command produces the same request`() throws {
        var request = try RequestBuilder("https://a.example").header("X-Empty", "").json([1])
            .build()
        request.target = "/../?a[b]=1"
        #expect(
            request.curlCommand() == """
                curl -X GET --globoff --path-as-is 'https://a.example/../?a[b]=1' \
                -H 'X-Empty;' -H 'Content-Type: application/json' --data-binary @-
                """
        )
        var server = try RequestBuilder("https://a.example").method(.options).build()
        server.target = "*"
        #expect(
            server.curlCommand() == "curl -X OPTIONS --request-target '*' https://a.example"
        )
    }

    @Test func `methods and fields are quoted for the shell`() throws {
        let method = try #require(HTTPMethod(rawValue: "`touch|pwned`"))
        let request = try RequestBuilder("https://a.example").method(method)
            .header("X-Note", "a\u{202E}b").build()
        #expect(
            request.curlCommand() == #"""
                curl -X '`touch|pwned`' https://a.example/ \#
                -H 'X-Note: a'"$(printf '\342\200\256')"'b'
                """#
        )
    }

    @Test func `events contain the facts for metrics and tracing`() async throws {
        let seen = Mutex<[NetworkExchange]>([])
        let stub = StubTransport()
        stub.answer(.get, "/x", with: .status(503), .json("[]"))
        var channel = NetworkChannel.stubbed(stub)
        channel.onEvent = { event in seen.withLock { $0.append(event.exchange) } }
        try await NetworkManager<PathEndpoint>(channel).send(endpoint)
        let exchanges = seen.withLock { $0 }
        #expect(exchanges.count == 2)
        #expect(exchanges[0].context.requestID == exchanges[1].context.requestID)
        #expect(exchanges[0].status == nil)
        #expect(exchanges[1].status == 200)
        #expect(exchanges[1].context.attempts == 2)
        #expect(exchanges[1].context.retries == [.status(503)])
        #expect(exchanges[1].context.earlierAttempts.map(\.status) == [503])
        #expect(exchanges[1].contentLength == 2)
    }

    @Test func `the event of a call that fails under a timeout lists its attempts`() async throws {
        let ends = Mutex<[NetworkExchange]>([])
        let stub = StubTransport { _ in .status(503) }
        var channel = NetworkChannel.stubbed(stub)
        channel.timeout = .seconds(3600)
        channel.onEvent = { event in
            if case .failed(let exchange, _) = event { ends.withLock { $0.append(exchange) } }
        }
        let manager = NetworkManager<PathEndpoint>(channel)
        await #expect(throws: NetworkError.self) { try await manager.send(endpoint) }
        let context = try #require(ends.withLock { $0 }.first?.context)
        #expect(context.attempts == stub.requests.count)
        #expect(context.attempts > 1)
        #expect(context.retries.allSatisfy { $0 == .status(503) })
    }
}
