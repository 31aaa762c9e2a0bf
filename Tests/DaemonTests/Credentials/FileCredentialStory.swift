import FoundationEssentials
import TestSupport
import Testing

/// Credentials in files that another program replaces.
@Suite struct FileCredentialStory {
    /// A secret in a file.
    private final class SecretFile: Sendable {
        let path = FileManager.default.temporaryDirectory
            .appending(path: "secret-\(UInt64.random(in: 0 ... .max))").path

        init(_ text: String) throws {
            try write(text)
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func write(_ text: String) throws {
            try Data("\(text)\n".utf8).write(to: URL(filePath: path), options: .atomic)
        }
    }

    private func api(_ field: String, accepting value: String) async throws -> OriginServer {
        try await OriginServer.start { request in
            guard request[field] == value else {
                return Raw.response("401 Unauthorized", fields: ["WWW-Authenticate: Bearer"])
            }
            return Raw.ok(request.body)
        }
    }

    private func channel(_ origin: OriginServer, _ auth: String) -> String {
        "orders: { upstream: 'http://127.0.0.1:\(origin.port)', auth: { \(auth) } }"
    }

    @Test(
        arguments: [
            ("bearer: file:PATH", "Authorization", "Bearer c4nary-2"),
            (
                "basic: { username: me, password: 'file:PATH' }", "Authorization",
                "Basic bWU6YzRuYXJ5LTI="
            ),
            ("header: { name: X-Api-Key, value: 'file:PATH' }", "X-Api-Key", "c4nary-2"),
        ]
    )
    func `a replaced credential is read after a 401`(
        auth: String,
        field: String,
        good: String
    ) async throws {
        let file = try SecretFile("c4nary-1")
        let origin = try await api(field, accepting: good)
        let auth = auth.replacing("PATH", with: file.path)
        try await DaemonHarness.run(channels: channel(origin, auth)) { proxy in
            let refused = try await proxy.exchange(Raw.post("/orders/1", body: "precious"))
            #expect(refused.status == 401)
            try file.write("c4nary-2")
            for _ in 1...2 {
                let answer = try await proxy.exchange(Raw.post("/orders/1", body: "precious"))
                #expect(answer.status == 200)
                #expect(answer.body == "precious")
            }
            #expect(origin.requests.count == 4)
            let facts = try await proxy.log("orders").map(\.facts)
            #expect(
                facts.map { $0.auth?.notReplayed } == ["static_credential", nil, nil]
            )
            #expect(facts.map(\.retries) == [nil, ["unauthorized"], nil])
            #expect(facts.map { $0.auth?.generation } == [1, 2, 2])
            let told = proxy.reports.joined(separator: "\n")
            #expect(told.contains("using the new value from file:\(file.path)"))
            let logs = try await proxy.allLogs() + told
            #expect(!logs.contains("c4nary"))
        }
    }

    @Test func `a missing file is reported, and the client receives the 401`() async throws {
        let file = try SecretFile("c4nary-1")
        let origin = try await api("Authorization", accepting: "Bearer c4nary-2")
        let auth = "bearer: 'file:\(file.path)'"
        try await DaemonHarness.run(channels: channel(origin, auth)) { proxy in
            try FileManager.default.removeItem(atPath: file.path)
            #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 401)
            #expect(
                await eventually {
                    proxy.reports.contains { $0.contains("auth.bearer: the API rejected it") }
                }
            )
            try file.write("c4nary-2")
            #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 200)
        }
    }
}
