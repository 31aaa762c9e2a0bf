import Foundation
import NetworkClient
import NetworkTesting
import Testing

@Suite struct ComposedRequestTests {
    private struct Filter: Encodable, Sendable {
        var state: String
    }

    private func composed(isUrgent: Bool, tags: [String] = []) throws -> Request {
        try RequestBuilder {
            URLScheme(.http)
            URLHost("api.example.com", port: 8080)
            URLPath("/orders")
            URLQuery(["page": "2"])
            URLQuery(encoding: Filter(state: "open"))
            Headers(["Accept": "application/json"])
            if isUrgent {
                Headers(["Priority": "u=1"])
            } else {
                CachePolicy.revalidate
            }
            for tag in tags { Headers(append: ["X-Tag": tag]) }
            HTTPMethod.post
            HTTPTask.json(["item": "lamp"])
        }.build()
    }

    @Test func `a request is composed of parts`() throws {
        let request = try composed(isUrgent: false)
        #expect(request.method == .post)
        #expect(request.origin.description == "http://api.example.com:8080")
        #expect(request.target == "/orders?page=2&state=open")
        #expect(request.headers[.accept] == "application/json")
        #expect(request.headers[.contentType] == "application/json")
        #expect(request.headers[.cacheControl] == "no-cache")
        guard case .bytes(let content) = request.body else {
            Issue.record("no content")
            return
        }
        #expect(String(decoding: content.array, as: UTF8.self) == #"{"item":"lamp"}"#)
    }

    @Test func `conditions and loops choose the parts of a request`() throws {
        let request = try composed(isUrgent: true, tags: ["a", "b"])
        #expect(request.headers["Priority"] == "u=1")
        #expect(request.headers[.cacheControl] == nil)
        #expect(request.headers.values(of: "X-Tag") == ["a", "b"])
    }

    @Test func `a composed request uses the channel's encoders`() async throws {
        struct Sized: Encodable, Sendable {
            var pageSize = 1
        }
        let stub = StubTransport { _ in .status(200) }
        var channel = NetworkChannel.stubbed(stub)
        channel.encoder.keyEncodingStrategy = .convertToSnakeCase
        channel.formEncoder = URLFormEncoder(keys: .kebabCase)
        let builder = RequestBuilder("https://a.example").query(encoding: Sized()).json(Sized())
        let manager = NetworkManager<OrderEndpoint>(channel)
        _ = try await manager.perform(builder)
        _ = try await manager.perform(builder.encoder(JSONEncoder()))
        #expect(stub.requests.map(\.query) == ["page-size=1", "page-size=1"])
        #expect(stub.requests.map(\.text) == [#"{"page_size":1}"#, #"{"pageSize":1}"#])
    }

    @Test func `a composed request with authorization never is not signed`() async throws {
        let stub = StubTransport { _ in .status(200) }
        let manager = NetworkManager<OrderEndpoint>(
            .stubbed(stub, authorizer: try StaticAuthorizer.bearer(Secret("t")))
        )
        _ = try await manager.perform(RequestBuilder("https://a.example"), authorization: .never)
        var options = CallOptions()
        options.authorization = .never
        _ = try await manager.perform(RequestBuilder("https://a.example"), options: options)
        _ = try await manager.perform(RequestBuilder("https://a.example"))
        // The argument of the call wins over the options, which several calls may share.
        _ = try await manager.perform(
            RequestBuilder("https://a.example"),
            authorization: .required,
            options: options
        )
        #expect(stub.requests.map(\.authorization) == [nil, nil, "Bearer t", "Bearer t"])
    }

    @Test func `the settings of an endpoint apply to a request composed of it`() async throws {
        struct Strict: Endpoint {
            let baseURL: BaseURL = "https://a.example"
            let path = "/x"
            let validation: SuccessRule? = SuccessRule(statuses: [404])
        }
        let stub = StubTransport { _ in .status(404) }
        let manager = NetworkManager<OrderEndpoint>(
            .stubbed(stub, authorizer: try StaticAuthorizer.bearer(Secret("t")))
        )
        #expect(try await manager.perform(RequestBuilder(Strict())).status == 404)
        let rule = CallOptions.accepting(.any)
        _ = try await manager.perform(RequestBuilder(OrderEndpoint.login), options: rule)
        _ = try await manager.perform(
            RequestBuilder(OrderEndpoint.login),
            authorization: .required,
            options: rule
        )
        #expect(stub.requests.map(\.authorization) == ["Bearer t", nil, "Bearer t"])
    }

    @Test func `later parts win, and an endpoint is a part`() throws {
        let request = try RequestBuilder {
            URLPath("/lost")
            OrderEndpoint.list
            URLHost("b.example")
            Headers(["Accept": "a/b"])
            Headers(["accept": "c/d"])
        }.build()
        #expect(request.origin.description == "https://b.example")
        #expect(request.target == "/v1/orders")
        #expect(request.headers.values(of: .accept) == ["c/d"])
    }

    @Test func `parts before an endpoint replace its own, or are added`() throws {
        let builder = RequestBuilder().scheme(.http).host("staging.example", port: 81)
            .basePath("/v2").query(["page": "2"]).header("X-A", "1").header("Accept", "a/b")
            .timeout(.seconds(3)).endpoint(OrderEndpoint.list).header("X-B", "2")
        let request = try builder.build()
        #expect(request.origin.description == "http://staging.example:81")
        #expect(request.target == "/v2/orders?page=2")
        #expect(request.headers["X-A"] == "1" && request.headers["X-B"] == "2")
        #expect(builder.timeout == .seconds(3))
        #expect(throws: NetworkError.self) {
            try RequestBuilder().header("a b", "1").endpoint(OrderEndpoint.list).build()
        }
    }

    @Test func `content may be a value, a form, bytes or a text`() throws {
        let tasks: [(HTTPTask, String, String)] = [
            (.json(Filter(state: "x")), "application/json", #"{"state":"x"}"#),
            (.form(["a": "1 2"] as QueryItems), "application/x-www-form-urlencoded", "a=1+2"),
            (.data(Data("raw".utf8), contentType: "a/b"), "a/b", "raw"),
            (.text("hé"), "text/plain; charset=utf-8", "hé"),
        ]
        for (task, type, text) in tasks {
            let request = try RequestBuilder {
                BaseURL("https://a.example/v1")
                HTTPMethod.put
                task
            }.build()
            #expect(request.headers[.contentType] == type)
            guard case .bytes(let content) = request.body else {
                Issue.record("no content")
                continue
            }
            #expect(String(decoding: content.array, as: UTF8.self) == text)
        }
    }

    @Test func `an invalid part is an error when the request is built`() {
        for builder in [
            RequestBuilder { Headers(["a b": "1"]) }, RequestBuilder { URLPath("/x") },
            RequestBuilder { URLHost("a b") },
        ] {
            let error = #expect(throws: NetworkError.self) { try builder.build() }
            #expect(error?.kind == .httpRequestError)
        }
    }

    @Test func `a composed request ends at its timeout`() async throws {
        let clock = ManualClock(sleeping: .skipped)
        let stub = StubTransport(clock: clock) { _ in .never }
        var channel = NetworkChannel.stubbed(stub)
        channel.clock = clock
        let error = await #expect(throws: NetworkError.self) {
            try await NetworkManager<PathEndpoint>(channel).perform(
                RequestBuilder {
                    URLHost("a.example")
                    TimeoutInterval(.seconds(5))
                }
            )
        }
        #expect(error?.kind == .httpResponseTimeout)
        #expect(clock.slept == [.seconds(5)])
    }
}

extension CallOptions {
    fileprivate static func accepting(_ rule: SuccessRule) -> CallOptions {
        var options = CallOptions()
        options.validation = rule
        return options
    }
}
