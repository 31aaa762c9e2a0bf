import TestSupport
import Testing

/// The channel of a request.
@Suite struct RoutingStory {
    @Test(arguments: [
        ("/api/1", "short /1"), ("/api", "short /"), ("/api/v2/1", "long /1"),
        ("/api/v2?x", "long /?x"), ("/api/v20", "short /v20"), ("/apis", "root /apis"),
        ("/other/api/v2", "root /other/api/v2"),
    ])
    func `the longest prefix wins`(path: String, answer: String) async throws {
        let origin = try await OriginServer.start { request in
            Raw.ok("\(request["X-Name"] ?? "") \(request.startLine.split(separator: " ")[1])")
        }
        func channel(_ name: String, _ path: String) -> String {
            """
            \(name):
              upstream: http://127.0.0.1:\(origin.port)
              match: { path: \(path) }
              headers: { set: { X-Name: \(name) } }
            """
        }
        let channels = [
            channel("root", "/"), channel("short", "/api"), channel("long", "/api/v2"),
        ]
        for channels in [channels, channels.reversed()] {
            try await DaemonHarness.run(channels: channels.joined(separator: "\n")) {
                proxy async throws in
                #expect(try await proxy.exchange(Raw.get(path)).body == answer)
            }
        }
    }

    @Test(arguments: [
        ("/v1/7", "short"), ("/v1/admin/7", "long"), ("/v1/admin", "long"), ("/v1/adm", "short"),
    ])
    func `the longest base path wins among upstreams with the same authority`(
        path: String,
        name: String
    ) async throws {
        let origin = try await OriginServer.start { Raw.ok($0["X-Name"] ?? "") }
        let authority = "127.0.0.1:\(origin.port)"
        func channel(_ name: String, _ base: String) -> String {
            """
            \(name):
              upstream: http://\(authority)\(base)
              headers: { set: { X-Name: \(name) } }
            """
        }
        let channels = [channel("short", "/v1"), channel("long", "/v1/admin")]
        for channels in [channels, channels.reversed()] {
            try await DaemonHarness.run(channels: channels.joined(separator: "\n")) {
                proxy async throws in
                let answer = try await proxy.exchange(
                    "GET http://\(authority)\(path) HTTP/1.1\r\nHost: \(authority)\r\n\r\n"
                )
                #expect(answer.body == name)
            }
        }
    }
}
