import FoundationEssentials
import TestSupport
import Testing

/// Tokens that could not be written, across reloads that change their channel.
@Suite struct ReloadedTokenStory {
    /// Starts an API with its authorization server, which accepts each refresh token once.
    private func server(_ counter: Counter) async throws -> OriginServer {
        try await OriginServer.start { request in
            guard request.startLine.hasPrefix("POST") else { return Raw.ok() }
            let number = counter.next()
            // A replaced token is refused.
            let isCurrent = request.body.contains("c4nary-\(number - 1)&") || number == 1
            guard isCurrent else {
                return Raw.response("400 Bad Request", body: #"{"error":"invalid_grant"}"#)
            }
            return Raw.ok(
                #"{"access_token":"a","token_type":"Bearer","expires_in":0,"#
                    + #""refresh_token":"c4nary-\#(number)"}"#,
                "Content-Type: application/json"
            )
        }
    }

    private func channel(_ path: String, _ server: OriginServer, client: String = "orders")
        -> String
    {
        let url = "http://127.0.0.1:\(server.port)"
        let grant = "grant: refresh_token, refresh_token: literal:first, client_auth: none"
        return """
            orders: { upstream: '\(url)/\(path)', auth: { oauth: { token_url: '\(url)/token', \
            client_id: \(client), \(grant) } } }
            """
    }

    /// Uses a token that cannot be written, reloads, and checks that it is used for the next token request.
    private func story(
        isWritable: Bool,
        reloading steps: [(OriginServer) -> String]
    ) async throws {
        let counter = Counter()
        let server = try await server(counter)
        try await DaemonHarness.run(channels: channel("one", server)) { proxy in
            // A directory has the name of the temporary file, so nothing can be written.
            let obstacle = "\(proxy.directory)/state/orders.json.tmp"
            #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 200)
            try FileManager.default.createDirectory(
                atPath: "\(obstacle)/x",
                withIntermediateDirectories: true
            )
            #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 200)
            #expect(proxy.reports.contains { $0.contains("token store:") })
            if isWritable { try FileManager.default.removeItem(atPath: obstacle) }
            for channels in steps { await proxy.reload(channels: channels(server)) }
            #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 200)
            #expect(counter.next() == 4)
        }
    }

    @Test func `a stop that loses a token reports its name and the remedy`() async throws {
        let server = try await server(Counter())
        try await DaemonHarness.run(channels: channel("one", server)) { proxy in
            #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 200)
            try FileManager.default.createDirectory(
                atPath: "\(proxy.directory)/state/orders.json.tmp/x",
                withIntermediateDirectories: true
            )
            #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 200)
            await proxy.stop()
            let words = "channel orders: its newest refresh token could not be stored"
            let report = proxy.reports.first { $0.hasPrefix(words) }
            #expect(report?.contains("sign in again: ") == true)
        }
    }

    @Test func `a stop without a loss reports nothing`() async throws {
        let server = try await server(Counter())
        try await DaemonHarness.run(channels: channel("one", server)) { proxy in
            let answer = try await proxy.exchange(Raw.get("/orders/1"))
            #expect(answer.status == 200)
            await proxy.stop()
            let losses = proxy.reports.filter { $0.contains("could not be stored") }
            #expect(losses.isEmpty)
        }
    }

    /// Whether the store is writable again when the channel changes, or only long after.
    @Test(arguments: [true, false])
    func `a changed channel keeps a token that could not be written`(
        isWritable: Bool
    ) async throws {
        try await story(isWritable: isWritable, reloading: [{ channel("two", $0) }])
    }

    /// The state of the channel during one reload.
    enum Interlude: CaseIterable {
        case removed, withoutTokens, anotherClient
    }

    @Test(arguments: Interlude.allCases)
    func `a channel that returns has the token that could not be written`(
        interlude: Interlude
    ) async throws {
        let between: (OriginServer) -> String =
            switch interlude {
            case .removed: { _ in "others: { upstream: 'http://127.0.0.1:9' }" }
            case .withoutTokens: { _ in "orders: { upstream: 'http://127.0.0.1:9' }" }
            case .anotherClient: { channel("one", $0, client: "ordres") }
            }
        try await story(isWritable: false, reloading: [between, { channel("one", $0) }])
    }
}
