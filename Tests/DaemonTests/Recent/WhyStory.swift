import FoundationEssentials
import TestSupport
import Testing

@Suite struct WhyStory {
    private let secret = "s3cr3t-word"

    private func run(
        _ reply: @escaping @Sendable (RawMessage) -> String,
        channel: String,
        _ story: (DaemonHarness) async throws -> Void
    ) async throws {
        let origin = try await OriginServer.start { wire in
            while let request = try await wire.next() { try await wire.send(reply(request)) }
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(origin.port)/v1, \(channel) }",
            story
        )
    }

    private func why(_ id: String, _ proxy: DaemonHarness) async throws -> RawMessage {
        try await proxy.ask(Raw.get("/why/\(id)"))
    }

    @Test func `every field with a credential is explained with its origin`() async throws {
        try await run(
            { _ in Raw.ok() },
            channel: """
                headers: { secret: { X-Second-Key: 'literal:k' }, remove: [X-Old-Token], default: { X-Auth: d } }, \
                auth: { bearer: "literal:\(secret)" }
                """
        ) { proxy in
            let fields = [
                "X-Request-Id: credentials-1", "Authorization: Bearer a", "X-Api-Key: dummy",
                "Cookie: a=b",
                "X-Old-Token: x", "X-Plain: y",
            ]
            _ = try await proxy.exchange(Raw.request("GET", "/orders/1", fields: fields))
            let text = try await why("credentials-1", proxy).body
            #expect(
                text.contains(
                    "sent upstream: Authorization (from auth), X-Second-Key (from headers.secret), "
                        + "X-Auth (from headers.default), Cookie (the app's own), X-Api-Key (the app's own)"
                ),
                "\(text)"
            )
        }
    }

    @Test func `a plain exchange is explained`() async throws {
        try await run(
            { _ in Raw.ok() },
            channel: """
                headers: { via: on, default: { Accept-Language: en, X-Kept: ours }, set: { X-App: ours }, \
                remove: [X-Debug, Cookie] }, auth: { bearer: "literal:\(secret)" }
                """
        ) { proxy in
            _ = try await proxy.exchange(
                Raw.get(
                    "/orders/42?key=\(secret)",
                    "X-Request-Id: plain-1",
                    "X-Debug: \(secret)",
                    "X-Kept: theirs",
                    "X-App: theirs",
                    "TE: trailers",
                    "Authorization: Bearer theirs"
                )
            )
            let answer = try await why("plain-1", proxy)
            #expect(answer.status == 200)
            let text = answer.body
            #expect(text.contains("its path begins with /orders, which is removed"))
            #expect(text.contains("added Via, User-Agent, Accept-Language;"))
            #expect(text.contains("replaced X-App;"))
            // The field is forwarded unchanged.
            #expect(!text.contains("TE"))
            #expect(text.contains("removed X-Debug"))
            #expect(text.contains("bearer, from auth.bearer (literal:…)"))
            #expect(text.contains("the app's own credential was replaced"))
            #expect(text.contains("over a new connection"))
            #expect(text.contains(#""record":{"time":"#))
            #expect(text.contains(#""curl":""#))
            #expect(text.contains("/orders/42?key="))
            #expect(!text.contains(secret))
            #expect(!text.contains("theirs"))
        }
    }

    @Test func `an unchanged request has no headers step`() async throws {
        try await run({ _ in Raw.ok() }, channel: "auth: off") { proxy in
            let own = "X-Request-Id: same-1"
            for (agent, isChanged) in [("User-Agent: app", false), ("X-App: 1", true)] {
                _ = try await proxy.exchange(Raw.get("/orders/42", own, agent))
                #expect(try await why("same-1", proxy).body.contains("headers") == isChanged)
            }
        }
    }

    @Test func `every attempt is explained`() async throws {
        let answers = Counter()
        try await run(
            { _ in
                answers.next() == 1
                    ? Raw.response("503 Service Unavailable", fields: ["Retry-After: 0"]) : Raw.ok()
            },
            channel: "retry: { status: [503], attempts: 2 }"
        ) { proxy in
            _ = try await proxy.exchange(Raw.get("/orders/42", "X-Request-Id: twice"))
            let text = try await why("twice", proxy).body
            #expect(text.contains(#""step":"attempt 1""#))
            #expect(text.contains("status 503 → sent again: status_503"))
            #expect(text.contains(#""step":"attempt 2""#))
            #expect(text.contains("pooled connection"))
        }
    }

    @Test func `an unreachable upstream is listed as an attempt`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let (refusing, answering) = (RefusingPort.any(), origin.port)
        try await DaemonHarness.run(
            channels: """
                orders: { upstream: ['http://127.0.0.1:\(refusing)', 'http://127.0.0.1:\(answering)'] }
                """
        ) { proxy in
            _ = try await proxy.exchange(Raw.get("/orders/42", "X-Request-Id: over"))
            let text = try await why("over", proxy).body
            let place = "no connection to 127.0.0.1:\(refusing)"
            #expect(text.contains("\(place) → sent again: connection_refused"))
            #expect(text.contains(#""attempt 2","text":"127.0.0.1:\#(answering) over a new"#))
        }
    }

    @Test func `a retry that the budget refused is explained`() async throws {
        try await run(
            { _ in Raw.response("503 Service Unavailable") },
            channel: "retry: { attempts: 1, budget: 1%, backoff: { base: 1ms, max: 1ms } }"
        ) { proxy in
            // Ten per second are always allowed.
            var text = ""
            for number in 1...100 where !text.contains("the channel's retry.budget is used up") {
                _ = try await proxy.exchange(Raw.get("/orders/42", "X-Request-Id: b\(number)"))
                text = try await why("b\(number)", proxy).body
            }
            #expect(text.contains("not sent again: the channel's retry.budget is used up"))
        }
    }

    @Test func `a tunnel is explained as a tunnel`() async throws {
        let origin = try await OriginServer.start { wire in _ = try await wire.rest() }
        let authority = "127.0.0.1:\(origin.port)"
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:9 }",
            root: "connect: ['\(authority)']"
        ) { proxy in
            let app = try await proxy.connect()
            try await app.send("CONNECT \(authority) HTTP/1.1\r\nHost: \(authority)\r\n\r\n")
            #expect(try await app.message(.none).status == 200)
            try await app.close()
            #expect(await proxy.hasLoggedExchange("netproxy"))
            let path = "\(proxy.directory)/log/netproxy.log"
            let log = try String(contentsOfFile: path, encoding: .utf8)
            let line = try #require(log.split(separator: "\n").last)
            let behind = try #require(line.split(separator: #""request_id":""#).last)
            let id = behind.prefix { $0 != "\"" }
            let text = try await why(String(id), proxy).body
            #expect(text.contains("CONNECT \(authority) from 127.0.0.1"))
            #expect(text.contains("no channel; a tunnel to a host that connect lists"))
            #expect(!text.contains(#""step":"headers""#))
        }
    }

    @Test func `a client's id may contain any character`() async throws {
        try await run({ _ in Raw.ok() }, channel: "log: { query: off }") { proxy in
            _ = try await proxy.exchange(Raw.get("/orders/42", "X-Request-Id: a+b/c"))
            #expect(try await why("a+b%2Fc", proxy).status == 200)
        }
    }

    @Test func `the explanation of a failure contains the remedy`() async throws {
        let port = RefusingPort.any()
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:\(port), retry: { attempts: 0 } }"
        ) { proxy in
            _ = try await proxy.exchange(Raw.get("/orders/42", "X-Request-Id: refused"))
            let text = try await why("refused", proxy).body
            #expect(text.contains("error connection_refused: "))
            _ = try await proxy.exchange(Raw.get("/nowhere", "X-Request-Id: lost"))
        }
    }

    // Takes a second or two, because the memory of a loop must be filled.
    @Test func `a failure is kept longer than a success`() async throws {
        try await run(
            { $0.startLine.contains("/bad") ? Raw.response("500 Oh") : Raw.ok() },
            channel: "log: { query: off }"
        ) { proxy in
            let app = try await proxy.connect()
            for path in ["good", "bad"] {
                try await app.send(Raw.get("/orders/\(path)", "X-Request-Id: \(path)"))
                _ = try await app.message()
            }
            for _ in 0..<1100 {
                try await app.send(Raw.get("/orders/more"))
                _ = try await app.message()
            }
            #expect(try await why("bad", proxy).status == 200)
            let forgotten = try await why("good", proxy)
            #expect(forgotten.status == 404)
            #expect(forgotten.body.contains("netproxy tail"))
        }
    }

    @Test func `of equal client ids the newest exchange is found, and every own id is unique`()
        async throws
    {
        try await run({ _ in Raw.ok() }, channel: "log: { query: full }") { proxy in
            var ours: [String] = []
            for number in 1...2 {
                let request = Raw.get("/orders/42?n=\(number)", "X-Request-Id: same")
                _ = try await proxy.exchange(request)
                let found = try await why("same", proxy).body
                #expect(found.contains(#""query":"n=\#(number)""#))
                ours.append(try #require(requestID(in: found)))
            }
            #expect(ours[0] != ours[1])
            #expect(try await why(ours[0], proxy).body.contains(#""query":"n=1""#))
        }
    }

    @Test(arguments: ["a+b/c", #"a\"#, "a'b"])
    func `the log line can be parsed regardless of the client's id`(id: String) async throws {
        try await run({ _ in Raw.ok() }, channel: "log: { query: off }") { proxy in
            _ = try await proxy.exchange(Raw.get("/orders/42", "X-Request-Id: \(id)"))
            let encoded = id.replacing("/", with: "%2F").replacing(#"\"#, with: "%5C")
            #expect(try await why(encoded, proxy).status == 200)
            #expect(try await proxy.onlyLine("orders").facts.clientRequestID == id)
        }
    }

    @Test func `a client cannot impersonate another exchange by its id`() async throws {
        try await run({ _ in Raw.ok() }, channel: "log: { query: off }") { proxy in
            _ = try await proxy.exchange(Raw.get("/orders/first", "X-Request-Id: theirs"))
            let ours = try #require(requestID(in: try await why("theirs", proxy).body))
            _ = try await proxy.exchange(Raw.get("/orders/second", "X-Request-Id: \(ours)"))
            #expect(try await why(ours, proxy).body.contains(#""path":"/v1/first""#))
        }
    }

    private func requestID(in answer: String) -> String? {
        answer.split(separator: #""request_id":""#).last?.split(separator: "\"").first
            .map(String.init)
    }

    @Test func `text from a client is not mistaken for an id`() async throws {
        try await run({ _ in Raw.ok() }, channel: "log: { query: full }") { proxy in
            _ = try await proxy.exchange(
                Raw.get(#"/orders/42?a="request_id":"forged""#, "X-Request-Id: real")
            )
            #expect(try await why("forged", proxy).status == 404)
        }
    }

    @Test func `without an id, the newest failed exchange is explained`() async throws {
        let origin = try await OriginServer.start { wire in
            while let request = try await wire.next() {
                let isForbidden = request.startLine.contains("/forbidden")
                try await wire.send(isForbidden ? Raw.response("403 Forbidden") : Raw.ok())
            }
        }
        try await DaemonHarness.run(
            channels: """
                orders: { upstream: http://127.0.0.1:\(origin.port) }
                bills: { upstream: http://127.0.0.1:\(origin.port) }
                """
        ) { proxy in
            #expect(try await proxy.ask(Raw.get("/why")).status == 404)
            _ = try await proxy.exchange(Raw.get("/orders/forbidden"))
            _ = try await proxy.exchange(Raw.get("/nowhere"))
            _ = try await proxy.exchange(Raw.get("/bills/fine"))
            let newest = try await proxy.ask(Raw.get("/why"))
            #expect(newest.status == 200)
            #expect(newest.body.contains("no channel matches"))
            let orders = try await why("orders", proxy)
            #expect(orders.body.contains("GET /orders/forbidden from"))
            #expect(orders.body.contains("; sent as /forbidden"))
            let bills = try await why("bills", proxy)
            #expect(bills.status == 404)
            #expect(bills.body.contains("no recent request of bills failed"))
        }
    }

    @Test func `an API's challenge is explained by its scheme, error and scope`() async throws {
        let challenge = """
            Bearer realm="private \(secret)", error="insufficient_scope", scope="orders.write", \
            error_description="\(secret)"
            """
        try await run(
            { _ in
                Raw.response("403 Forbidden", fields: ["WWW-Authenticate: \(challenge)"])
            },
            channel: "auth: { bearer: 'literal:\(secret)' }"
        ) { proxy in
            _ = try await proxy.exchange(Raw.get("/orders/42", "X-Request-Id: scope"))
            let text = try await why("scope", proxy).body
            #expect(
                text.contains(
                    #""challenge","text":"Bearer, error insufficient_scope, scope orders.write"#
                )
            )
            #expect(!text.contains(secret))
            #expect(!text.contains("realm"))
        }
    }

    @Test(arguments: [
        ("auth: { bearer: 'file:PATH' }", "X-Plain: 1", true),
        (
            "auth: { bearer: 'file:PATH' }", "WWW-Authenticate: Bearer error=insufficient_scope",
            false
        ),
        (
            "auth: { aws: { access_key_id: K, secret_access_key: 'file:PATH', region: r, service: s } }",
            "X-Plain: 1", false
        ),
    ])
    func `a 403 is explained as a token problem only if it can be one`(
        auth: String,
        field: String,
        isHinted: Bool
    ) async throws {
        let file = FileManager.default.temporaryDirectory
            .appending(path: "why-\(UInt64.random(in: 0 ... .max))").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        try Data("\(secret)\n".utf8).write(to: URL(filePath: file))
        try await run(
            { _ in Raw.response("403 Forbidden", fields: [field]) },
            channel: auth.replacing("PATH", with: file)
        ) { proxy in
            _ = try await proxy.exchange(Raw.get("/orders/42", "X-Request-Id: hint"))
            let text = try await why("hint", proxy).body
            #expect(text.contains("netproxy token orders --refresh mends it") == isHinted)
            #expect(text.contains("retry.unauthorized") == isHinted)
        }
    }

    @Test func `a refusal with a status other than 401 is explained with its status`() async throws
    {
        let keys = "access_key_id: K, secret_access_key: 'literal:\(secret)'"
        try await run(
            { _ in Raw.response("403 Forbidden", fields: ["X-Amzn-ErrorType: ExpiredToken"]) },
            channel: "auth: { aws: { \(keys), region: r, service: s } }"
        ) { proxy in
            _ = try await proxy.exchange(Raw.get("/orders/42", "X-Request-Id: passed"))
            let text = try await why("passed", proxy).body
            #expect(text.contains("the 403 was passed on (static_credential"))
        }
    }
}
