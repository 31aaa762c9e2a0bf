import TestSupport
import Testing

/// Secrets in unexpected places of a request, in the log and in its readers.
@Suite struct HiddenSecretsStory {
    private static let secret = "c4nary-S3cret"
    private static let key = "netpr0xy-Key"

    /// Sends a request, and returns everything that an operator can read about it.
    private func told(_ auth: String, base: String = "", _ request: String) async throws -> String {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        var told = ""
        try await DaemonHarness.run(
            channels: """
                api:
                  upstream: 'http://127.0.0.1:\(origin.port)\(base)'
                  auth: { \(auth) }
                  access: { key: 'literal:\(Self.key)', methods: [GET] }
                  log: { query: full, headers: [X-Other, X-Request-Id] }
                """
        ) { proxy in
            _ = try await proxy.exchange(request)
            let why = try await proxy.ask(Raw.get("/why/api")).body
            let tail = try await proxy.ask(Raw.get("/status")).body
            told = try await proxy.allLogs() + why + tail
        }
        return told
    }

    @Test(arguments: [
        "/api/\(secret)/x", "/api/x?q=\(secret)", "/api/x?q=%63%34nary-S3cret", "/api/x?q=\(key)",
        "/api/x",
    ])
    func `no secret of a channel is logged, wherever the client writes it`(target: String)
        async throws
    {
        for method in ["GET", "DELETE"] {
            for keyed in [["Authorization: Bearer \(Self.key)"], []] {
                let fields = [
                    "X-Other: a, \(Self.key)", "X-Other: is \(Self.secret).",
                    "X-Request-Id: \(Self.secret)",
                ]
                let told = try await told(
                    "bearer: 'literal:\(Self.secret)'",
                    Raw.request(method, target, fields: fields + keyed)
                )
                #expect(told.contains("\"event\":\"exchange\""))
                #expect(!told.contains("S3cret") && !told.contains(Self.key), "\(told)")
            }
        }
    }

    @Test(arguments: [
        "/api/botm1ne-own/a", "/api/botm1ne-own/../../x", "/wrong/botm1ne-own/a",
        "/botm1ne-own/a?x",
    ])
    func `the client's own credential in a path is never logged`(target: String) async throws {
        let told = try await told(
            "bearer: 'literal:\(Self.secret)', in: path",
            base: "/bot{credential}",
            Raw.get(target)
        )
        #expect(told.contains("{credential}") && !told.contains("m1ne-own"), "\(told)")
    }
}
