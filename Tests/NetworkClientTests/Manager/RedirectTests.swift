import FoundationEssentials
import NetworkClient
import NetworkTesting
import OriginTransport
import Synchronization
import TestSupport
import Testing

/// Tests of redirects over real sockets.
@Suite struct RedirectTests {
    /// Starts a server that responds with `answer`.
    private func server(_ answer: @escaping @Sendable (RawMessage) -> String)
        async throws -> OriginServer
    {
        try await OriginServer.start(answering: answer)
    }

    private static func redirect(_ status: Int, _ location: String, _ more: String = "") -> String {
        "HTTP/1.1 \(status) Moved\r\nLocation: \(location)\r\n\(more)Content-Length: 5\r\n\r\nmoved"
    }

    private func manager(
        _ host: String? = nil,
        authorizer: (any Authorizing)? = nil,
        interceptors: [any RequestInterceptor] = [],
        _ change: (inout NetworkChannel) -> Void = { _ in }
    ) throws -> NetworkManager<PathEndpoint> {
        var channel = NetworkChannel(
            transport: try PooledTransport(),
            host: host,
            authorizer: authorizer,
            interceptors: interceptors
        )
        change(&channel)
        return NetworkManager(channel)
    }

    private func request(
        _ origin: OriginServer,
        _ method: HTTPMethod = .get,
        _ path: String = "/a",
        headers: HTTPHeaders = [:],
        content: Data? = nil
    ) throws -> Request {
        try Request(
            method,
            url: "http://127.0.0.1:\(origin.port)\(path)",
            headers: headers,
            content: content
        )
    }

    @Test(arguments: [301, 302, 303, 307, 308], [HTTPMethod.get, .head])
    func `GET and HEAD redirects are followed over the same connection`(
        status: Int,
        method: HTTPMethod
    )
        async throws
    {
        let origin = try await server { request in
            request.startLine.contains("/x/b")
                ? Raw.ok("")
                : Self.redirect(status, "x/b?c")
                    .replacing("moved", with: method == .head ? "" : "moved")
        }
        let response = try await manager().perform(
            request(origin, method, headers: ["X-Own": "1"])
        )
        #expect(response.status == 200)
        #expect(
            origin.requests.map(\.startLine) == [
                "\(method) /a HTTP/1.1", "\(method) /x/b?c HTTP/1.1",
            ]
        )
        #expect(origin.requests.last?["X-Own"] == "1")
        if method == .get { #expect(origin.connections.count == 1) }
        #expect(response.context.attempts == 2)
        let redirect = try #require(response.context.redirects.first)
        #expect(redirect.status.rawValue == status)
        #expect(redirect.source == "http://127.0.0.1:\(origin.port)/a")
        #expect(redirect.location == "http://127.0.0.1:\(origin.port)/x/b?c")
        #expect(response.context.retries.map(\.description) == ["redirect_\(status)"])
        #expect(response.context.destination?.target == "/x/b?c")
    }

    @Test func `a 303 after a POST becomes a GET without content fields`()
        async throws
    {
        let origin = try await server { request in
            request.startLine.contains("/b") ? Raw.ok("done") : Self.redirect(303, "/b")
        }
        let response = try await manager().perform(
            request(
                origin,
                .post,
                headers: ["Content-Type": "text/plain", "X-Own": "1"],
                content: Data("abc".utf8)
            )
        )
        #expect(response.text == "done")
        let last = try #require(origin.requests.last)
        #expect(last.startLine == "GET /b HTTP/1.1")
        #expect((last["Content-Type"], last["Content-Length"], last.body) == (nil, nil, ""))
        #expect(last["X-Own"] == "1")
    }

    @Test(arguments: [301, 302, 307, 308])
    func `a POST is redirected only if the policy allows it, and stays a POST`(status: Int)
        async throws
    {
        let origin = try await server { request in
            request.startLine.contains("/b") ? Raw.ok("done") : Self.redirect(status, "/b")
        }
        let post = try request(origin, .post, content: Data("abc".utf8))
        let manager = try manager()
        let error = await #expect(throws: NetworkError.self) { try await manager.perform(post) }
        #expect(error?.kind == .unacceptableResponse)
        #expect(error?.status?.rawValue == status)
        #expect(error?.response?.headers["Location"] == "/b")
        #expect(error?.response?.text == "moved")
        #expect(error?.detail.contains("the policy follows no POST") == true)
        let options = CallOptions(redirects: RedirectPolicy(methods: [.post]))
        #expect(try await manager.perform(post, options: options).text == "done")
        #expect(origin.requests.last?.startLine == "POST /b HTTP/1.1")
        #expect(origin.requests.last?.body == "abc")
    }

    @Test func `credentials are not sent across origins, nor after returning`() async throws {
        let first = Mutex<Int>(0)
        let other = try await server { _ in
            Self.redirect(302, "http://127.0.0.1:\(first.withLock { $0 })/c")
        }
        let own = try await server { request in
            request.startLine.contains("/c")
                ? Raw.ok("done") : Self.redirect(302, "http://127.0.0.1:\(other.port)/b")
        }
        first.withLock { $0 = own.port }
        let manager = try manager(
            "127.0.0.1:\(own.port)",
            authorizer: StaticAuthorizer.bearer(Secret("t"))
        )
        let asked = try request(
            own,
            headers: ["X-Api-Key": "k", "Cookie": "c=1", "DPoP": "p", "X-Own": "1"]
        )
        #expect(try await manager.perform(asked).text == "done")
        #expect(own.requests.first?["Authorization"] == "Bearer t")
        for seen in [other.requests.first, own.requests.last] {
            #expect(seen?["Authorization"] == nil)
            #expect((seen?["X-Api-Key"], seen?["Cookie"], seen?["DPoP"]) == (nil, nil, nil))
            #expect(seen?["X-Own"] == "1")
        }
        #expect(own.requests.count == 2)
    }

    @Test func `each redirect within the origin is signed and retried`() async throws {
        let refused = Atomic(false)
        let origin = try await server { request in
            if request.startLine.contains("/a") { return Self.redirect(307, "/b") }
            guard refused.exchange(true, ordering: .relaxed) else {
                return "HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n"
            }
            return Raw.ok("done")
        }
        let manager = try manager(authorizer: StaticAuthorizer.bearer(Secret("t")))
        let options = CallOptions(authorization: .required)
        let response = try await manager.perform(try request(origin), options: options)
        #expect(response.text == "done")
        #expect(
            origin.requests.map { $0["Authorization"] } == Array(repeating: "Bearer t", count: 3)
        )
        #expect(response.context.retries.map(\.description) == ["redirect_307", "status_503"])
        #expect(response.context.destination?.target == "/b")
    }

    @Test(
        arguments: [
            ("/a", "", "it leads back to what was asked already"),
            ("ftp://a.test/", "", "its scheme is ftp, not http or https"),
            ("http://u:p@a.test/", "", "it brings a user name or a password"),
            ("http://", "", "it names no valid host"),
        ]
    )
    func `a redirect that leads nowhere is returned as the response`(
        location: String,
        more: String,
        reason: String
    )
        async throws
    {
        let origin = try await server { _ in Self.redirect(302, location, more) }
        let manager = try manager()
        let asked = try request(origin)
        let error = await #expect(throws: NetworkError.self) { try await manager.perform(asked) }
        #expect(error?.kind == .unacceptableResponse)
        #expect(error?.detail == "unexpected status 302; the redirect was not followed: \(reason)")
        #expect(origin.requests.count == 1)
        let accepting = CallOptions(validation: .any)
        let answer = try await manager.perform(asked, options: accepting)
        #expect((answer.status, answer.headers["Location"]) == (302, location))
    }

    @Test func `redirects are limited, and a limit of 0 follows none`() async throws {
        let count = Atomic(0)
        let origin = try await server { _ in
            Self.redirect(302, "/\(count.add(1, ordering: .relaxed).newValue)")
        }
        let manager = try manager { $0.redirects.limit = 2 }
        let asked = try request(origin)
        let error = await #expect(throws: NetworkError.self) { try await manager.perform(asked) }
        #expect(error?.detail.contains("2 redirects were followed already") == true)
        #expect(origin.requests.count == 3)
        await #expect(throws: NetworkError.self) {
            try await manager.perform(asked, options: CallOptions(redirects: RedirectPolicy.none))
        }
        #expect(origin.requests.count == 4)
    }

    @Test func `a redirect that sets a cookie may lead back`() async throws {
        let count = Atomic(0)
        let origin = try await server { _ in
            count.add(1, ordering: .relaxed).newValue == 1
                ? Self.redirect(302, "/a", "Set-Cookie: seen=1\r\n") : Raw.ok("done")
        }
        #expect(try await manager().perform(try request(origin)).text == "done")
    }

    @Test func `a redirect from https to http is not followed`() async throws {
        let transport = StubTransport()
        transport.answer(.get, "/", with: .status(301, headers: ["Location": "http://a.test/b"]))
        transport.answer(.get, "/b", with: .status(200))
        let manager = NetworkManager<PathEndpoint>(NetworkChannel(transport: transport))
        let asked = try Request(url: "https://a.test/")
        let error = await #expect(throws: NetworkError.self) { try await manager.perform(asked) }
        #expect(error?.detail.contains("it leads from https to http") == true)
    }

    @Test func `a policy may limit redirects to the origin`() async throws {
        let other = try await server { _ in Raw.ok("other") }
        let origin = try await server { _ in
            Self.redirect(302, "http://127.0.0.1:\(other.port)/")
        }
        let manager = try manager { $0.redirects.crossesOrigins = false }
        let asked = try request(origin)
        await #expect(throws: NetworkError.self) { try await manager.perform(asked) }
        #expect(other.requests.isEmpty)
    }

    @Test func `a custom interceptor sees one request and one response`() async throws {
        let seen = Mutex<[Int]>([])
        struct Watch: RequestInterceptor {
            let note: @Sendable (Int) -> Void
            func intercept(_ request: Request, context: inout RequestContext, next: RequestChain)
                async throws -> Response
            {
                let response = try await next.send(request, context: &context)
                note(response.status.rawValue)
                return response
            }
        }
        let origin = try await server { request in
            request.startLine.contains("/b") ? Raw.ok("done") : Self.redirect(302, "/b")
        }
        let watch = Watch { status in seen.withLock { $0.append(status) } }
        _ = try await manager(interceptors: [watch]).perform(try request(origin))
        #expect(seen.withLock { $0 } == [200])
    }

    @Test func `each redirect is an event, in order`() async throws {
        let events = Mutex<[String]>([])
        let origin = try await server { request in
            switch request.startLine {
            case "GET /a HTTP/1.1": Self.redirect(302, "/b?token=x")
            case "GET /b?token=x HTTP/1.1": Self.redirect(308, "/c")
            default: Raw.ok("done")
            }
        }
        let manager = try manager {
            $0.onEvent = { event in
                let text: String =
                    switch event {
                    case .redirected(_, let redirect):
                        "\(redirect.status) \(redirect.location.suffix(2))"
                    case .started: "started"
                    case .received: "received"
                    default: "other"
                    }
                events.withLock { $0.append(text) }
            }
        }
        _ = try await manager.perform(try request(origin))
        #expect(events.withLock { $0 } == ["started", "302 =x", "308 /c", "received"])
    }

    @Test func `redirects of downloads, streams and events are followed`() async throws {
        let origin = try await server { request in
            request.startLine.contains("/b")
                ? Raw.ok("data: one\n\n", "Content-Type: text/event-stream")
                : Self.redirect(302, "/b")
        }
        let manager = try manager()
        let path = FileManager.default.temporaryDirectory
            .appending(path: "redirect-\(UInt64.random(in: 0 ... .max))").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(try await manager.download(try request(origin), to: path).length == 11)
        var length = 0
        for try await piece in try await manager.stream(try request(origin)).bytes {
            length += piece.count
        }
        #expect(length == 11)
        for try await event in manager.events(try request(origin)) {
            #expect(event.data == "one")
            break
        }
    }
}
