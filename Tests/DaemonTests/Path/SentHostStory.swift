import TestSupport
import Testing

/// The upstream's names in a request.
@Suite struct SentHostStory {
    private func host(_ key: String, _ fields: String...) async throws -> RawMessage {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: "files: { upstream: 'http://127.0.0.1:\(origin.port)/dav'\(key) }"
        ) { proxy in
            _ = try await proxy.exchange(Raw.request("MOVE", "/files/a", fields: fields))
        }
        return try #require(origin.requests.first)
    }

    @Test func `Host is the value that the channel configures`() async throws {
        #expect(try await host("")["Host"]?.hasPrefix("127.0.0.1:") == true)
        #expect(try await host(", host: api.internal:8443")["Host"] == "api.internal:8443")
        #expect(try await host(", host: app")["Host"] == "localhost")
    }

    @Test func `an HTTP/1.0 request without Host gets the upstream's authority`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: "files: { upstream: 'http://127.0.0.1:\(origin.port)', host: app }"
        ) { proxy in
            _ = try await proxy.exchange("GET /files/a HTTP/1.0\r\n\r\n")
        }
        #expect(try #require(origin.requests.first)["Host"] == "127.0.0.1:\(origin.port)")
    }

    /// Each value may contain `UP` for the upstream's authority.
    @Test(arguments: [
        ("", "http://localhost/files/b%20c?x", "http://UP/dav/b%20c?x"),
        ("", "/files/b", "/dav/b"), ("", "http://files.localhost/b", "http://UP/dav/b"),
        ("", "http://UP/dav/b", "http://UP/dav/b"),
        ("", "https://elsewhere.example/b", "https://elsewhere.example/b"),
        ("", "/dav/b", "/dav/b"),
        ("", "container/object", "container/object"),
        (", host: api.internal", "http://localhost/files/b", "http://api.internal/dav/b"),
    ])
    func `Destination is mapped like a target`(
        key: String,
        value: String,
        sent: String
    ) async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let named = { (text: String) in text.replacing("UP", with: "127.0.0.1:\(origin.port)") }
        try await DaemonHarness.run(
            channels: "files: { upstream: 'http://127.0.0.1:\(origin.port)/dav'\(key) }"
        ) { proxy in
            let field = "Destination: \(named(value))"
            _ = try await proxy.exchange(Raw.request("MOVE", "/files/a", fields: [field]))
        }
        #expect(try #require(origin.requests.first)["Destination"] == named(sent))
    }

    @Test(arguments: [
        "/admin", "/", "/dav/../admin", "/dav/%2e%2E/admin", "/files/../admin", "/files/..%2fadmin",
        "/davx/b", "http://UP/other/b", "HTTP://UP/admin", "https://UP/admin",
        "http://UP/dav/../admin",
        "http://UP", "http://u@UP/admin", "http://localhost/admin",
        "http://localhost/files/../admin",
        "http://other.localhost/b", "../admin", "//UP/admin", "/other/b",
    ])
    func `a Destination out of the base path is refused`(value: String) async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let value = value.replacing("UP", with: "127.0.0.1:\(origin.port)")
        let upstream = "upstream: 'http://127.0.0.1:\(origin.port)"
        try await DaemonHarness.run(
            channels: "files: { \(upstream)/dav' }\nother: { \(upstream)/other' }"
        ) { proxy in
            for method in ["MOVE", "COPY"] {
                let fields = ["Destination: \(value)"]
                let answer = try await proxy.exchange(
                    Raw.request(method, "/files/a", fields: fields)
                )
                #expect(answer.status == 400, "\(value)")
            }
        }
        #expect(origin.requests.isEmpty)
    }

    @Test(arguments: [
        ("x-amz-copy-source", "../key"), ("x-amz-copy-source", "/bucket/../../key"),
        ("x-ms-copy-source", "http://UP/other/b"), ("X_Copy_From", "%2e%2e/key"),
        ("x-ms-rename-source", "http://localhost/other/b"),
    ])
    func `the source of a copy out of the base path is refused`(name: String, value: String)
        async throws
    {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let value = value.replacing("UP", with: "127.0.0.1:\(origin.port)")
        try await DaemonHarness.run(
            channels: "files: { upstream: 'http://127.0.0.1:\(origin.port)/dav' }"
        ) { proxy in
            let request = Raw.request("PUT", "/files/a", fields: ["\(name): \(value)"], body: "")
            let answer = try await proxy.exchange(request)
            #expect(answer.status == 400)
        }
    }

    @Test(arguments: [
        ("x-amz-copy-source", "/files/key", "/files/key"),
        ("X-Amz-Copy-Source", "bucket/key%20a?versionId=3", "bucket/key%20a?versionId=3"),
        ("x-ms-copy-source", "http://localhost/files/c/b?sv=1", "http://UP/dav/c/b?sv=1"),
        ("X-Oss-Copy-Source", "http://localhost/files/b", "http://UP/dav/b"),
    ])
    func `the source of a copy is mapped if it is a URL`(
        name: String,
        value: String,
        sent: String
    ) async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: "files: { upstream: 'http://127.0.0.1:\(origin.port)/dav' }"
        ) { proxy in
            _ = try await proxy.exchange(
                Raw.request("PUT", "/files/a", fields: ["\(name): \(value)"], body: "")
            )
        }
        let mapped = sent.replacing("UP", with: "127.0.0.1:\(origin.port)")
        #expect(try #require(origin.requests.first)[name] == mapped)
    }

    @Test(arguments: [
        ("Destination: http://localhost/files/public/b", 200),
        ("Destination: /files/public/b", 200),
        ("Destination: /files/private/b", 403), ("Destination: /dav/private/b", 403),
        ("Destination: /dav/public/b", 200), ("Destination: /public/b", 403),
        ("Destination: /files/public/../private/b", 403),
        ("Destination: https://elsewhere.example/public/b", 403),
        ("X-Amz-Copy-Source: public/b", 200), ("X-Amz-Copy-Source: /public/b?versionId=1", 200),
        ("X-Amz-Copy-Source: private/b", 403), ("x_amz_copy_source: private/b", 403),
        ("X-Amz-Copy-Source: public%2f..%2fprivate/b", 403),
        ("X-Amz-Copy-Source: arn:aws:s3:::private/b", 403), ("X-Cos-Copy-Source: private/b", 403),
        ("X-Ms-Rename-Source: /private/b", 403), ("X-Copy-From: private/b", 403),
        ("X-Ms-Copy-Source: https://elsewhere.example/public/b", 403),
        ("X-Amz-Copy-Source-Range: bytes=0-9", 200),
    ])
    func `access paths also apply to the second path`(field: String, status: Int) async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        try await DaemonHarness.run(
            channels: """
                files:
                  upstream: http://127.0.0.1:\(origin.port)/dav
                  access: { paths: [/public/*] }
                """
        ) { proxy in
            let request = Raw.request("PUT", "/files/public/a", fields: [field], body: "")
            let answer = try await proxy.exchange(request)
            #expect(answer.status == status)
        }
    }
}
