import TestSupport
import Testing

/// The limits of an admin address that every user can reach.
@Suite struct AdminLimitStory {
    private func run(
        admin: String = "127.0.0.1:0",
        _ story: (DaemonHarness) async throws -> Void
    ) async throws {
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:9 }",
            root: "admin: \(admin)",
            story
        )
    }

    @Test func `the oldest of 64 idle connections is closed for a new one`() async throws {
        try await run { proxy in
            var idle: [Wire] = []
            // Silent connections, connections with half a head, and connections after a response.
            for number in 0..<64 {
                let text = ["", "GET /healthz HTTP/1.1\r\n", Raw.get("/healthz")][number % 3]
                let app = try await proxy.admin(sending: text)
                if number % 3 == 2 { #expect(try await app.message().status == 200) }
                idle.append(app)
            }
            #expect(try await proxy.ask(Raw.get("/healthz")).status == 200)
            #expect(try await idle[0].rest().text.isEmpty)
            let last = try #require(idle.last)
            try await last.send(Raw.get("/healthz"))
            #expect(try await last.message().status == 200)
        }
    }

    @Test func `an idle connection is closed after 5 s`() async throws {
        try await run { proxy in
            let silent = try await proxy.admin(sending: "")
            let answered = try await proxy.admin(sending: Raw.get("/healthz"))
            #expect(try await answered.message().status == 200)
            // The daemon has accepted both.
            await proxy.advance(by: .seconds(6))
            _ = try await silent.rest()
            _ = try await answered.rest()
        }
    }

    @Test func `the number of keys lent over a port is limited`() async throws {
        let request = Raw.request("POST", "/keys", fields: ["Netproxy-Admin: 1"])
        try await run { proxy in
            var leases: [Wire] = []
            for _ in 0..<16 {
                let lease = try await proxy.admin(sending: request)
                #expect(try await lease.read(through: "\r\n").contains(" 200 "))
                leases.append(lease)
            }
            let refusal = try await proxy.ask(request)
            #expect(refusal.status == 503)
            #expect(refusal.body.contains("16 keys are lent over TCP already"))
            try await leases.removeLast().close()
            let isLentAgain = await eventually {
                (try? await proxy.admin(sending: request).read(through: "\r\n").contains(" 200 "))
                    == true
            }
            #expect(isLentAgain)
        }
    }

    @Test func `a unix socket has no such limits`() async throws {
        let request = Raw.request("POST", "/keys", fields: ["Netproxy-Admin: 1"])
        try await run(admin: "unix:DIRECTORY/admin.sock") { proxy in
            var leases: [Wire] = []
            for _ in 0..<80 {
                let lease = try await proxy.admin(sending: request)
                #expect(try await lease.read(through: "\r\n").contains(" 200 "))
                leases.append(lease)
            }
        }
    }
}
