import TestSupport
import Testing

/// Which channel a request is for.
@Suite struct RoutingStory {
    @Test(arguments: [
        ("/api/1", "short /1"), ("/api", "short /"), ("/api/v2/1", "long /1"),
        ("/api/v2?x", "long /?x"), ("/api/v20", "short /v20"), ("/apis", "root /apis"),
        ("/other/api/v2", "root /other/api/v2"),
    ])
    func `the longest prefix has the request`(path: String, answer: String) async throws {
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
}
