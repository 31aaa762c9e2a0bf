import Foundation
import NetproxyConfig
import NetproxyEventIO
import NetproxyService
import TestSupport
import Testing

/// Channels that lack a secret or a file, beside others that have theirs.
@Suite struct ChannelOutageStory {
    /// A directory for secrets and programs; removed with the object.
    fileprivate final class Files: Sendable {
        let path = FileManager.default.temporaryDirectory
            .appending(path: "netproxy-outage-\(UInt64.random(in: 0 ... .max))").path()

        init() throws {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true
            )
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func write(_ text: String, to name: String) throws {
            try Data("\(text)\n".utf8)
                .write(to: URL(filePath: "\(path)/\(name)"), options: .atomic)
        }

        func remove(_ name: String) throws {
            try FileManager.default.removeItem(atPath: "\(path)/\(name)")
        }

        func has(_ name: String) -> Bool {
            FileManager.default.fileExists(atPath: "\(path)/\(name)")
        }

        /// The number of lines in a file.
        func lines(_ name: String) -> Int {
            FileManager.default.contents(atPath: "\(path)/\(name)")?.count { $0 == 10 } ?? 0
        }
    }

    /// An origin that responds with the credential of the request.
    private func origin() async throws -> OriginServer {
        try await OriginServer.start { wire in
            while let request = try await wire.next() {
                let shown = request["Authorization"] ?? request["X-Key"] ?? "none"
                try await wire.send(Raw.ok(shown))
            }
        }
    }

    /// A channel with some more keys.
    private func channel(_ name: String, _ origin: OriginServer, _ keys: String) -> String {
        "\(name): { upstream: 'http://127.0.0.1:\(origin.port)', \(keys) }"
    }

    private func body(_ target: String, _ proxy: DaemonHarness) async throws -> String {
        try await proxy.exchange(Raw.get(target)).body
    }

    private func status(_ target: String, _ proxy: DaemonHarness) async throws -> Int {
        try await proxy.exchange(Raw.get(target)).status
    }

    private func status(
        of name: String,
        _ proxy: DaemonHarness
    ) async throws -> DaemonStatus.ChannelStatus {
        let status = try #require(
            DaemonStatus(json: try await proxy.ask(Raw.get("/status")).body)
        )
        return try #require(status.channels.first { $0.name == name })
    }

    private static let oauth = "token_url: 'http://127.0.0.1:9/t', client_id: a"

    @Test(
        arguments: [
            "auth: { bearer: 'file:DIRECTORY/missing' }",
            "auth: { bearer: 'exec:/bin/false' }",
            "auth: { bearer: 'exec:/bin/true' }",
            "auth: { bearer: 'env:NETPROXY_NO_SUCH_VARIABLE' }",
            "auth: { bearer: 'cred:missing' }",
            "auth: { basic: { username: a, password: 'file:DIRECTORY/missing' } }",
            "auth: { header: { name: X-Key, value: 'literal:outer blank ' } }",
            "auth: { oauth: { \(oauth), client_secret: 'file:DIRECTORY/missing' } }",
            """
            auth: { oauth: { \(oauth), client_auth: private_key_jwt, \
            client_key: { key: 'literal:no PEM', audience: x } } }
            """,
            "auth: { jwt: { key: 'literal:no PEM' } }",
            "auth: { hmac: { key: 'file:DIRECTORY/missing', message: '{method}' } }",
            """
            auth: { aws: { access_key_id: A, secret_access_key: 'literal:a blank', region: r, \
            service: s } }
            """,
            "headers: { secret: { X-Key: 'file:DIRECTORY/missing' } }",
            "headers: { secret: { X-Key: 'literal:outer blank ' } }",
            """
            proxy: { url: 'http://127.0.0.1:9', username: u, \
            password: 'file:DIRECTORY/missing' }
            """,
            "access: { key: 'file:DIRECTORY/missing' }",
            "tls: { ca: DIRECTORY/missing }",
            "tls: { client_certificate: DIRECTORY/missing, client_key: DIRECTORY/missing }",
            "stub: [{ file: DIRECTORY/missing }]",
        ]
    )
    func `a channel without a usable secret responds with 503, and the others serve`(
        keys: String
    ) async throws {
        let (origin, files) = (try await origin(), try Files())
        let keys = keys.replacing("DIRECTORY", with: files.path)
        let channels = """
            good: { upstream: 'http://127.0.0.1:\(origin.port)', auth: { bearer: 'literal:t' } }
            bad: { upstream: 'https://127.0.0.1:9', \(keys) }
            """
        try await DaemonHarness.run(channels: channels) { proxy in
            #expect(try await body("/good/1", proxy) == "Bearer t")
            let refused = try await proxy.exchange(Raw.get("/bad/1"))
            #expect(refused.status == 503)
            #expect(refused["Proxy-Status"] == "netproxy; error=credential_unavailable")
            #expect((1...8).contains(refused["Retry-After"].flatMap { Int($0) } ?? 0))
            let found = try await status(of: "bad", proxy)
            #expect(found.state == .failed)
            #expect(found.reason.map(refused.body.contains) == true)
            #expect(try await status(of: "good", proxy).state != .failed)
        }
    }

    @Test func `an outage is shown wherever an operator looks, and logged once`() async throws {
        let (origin, files) = (try await origin(), try Files())
        let program = "\(files.path)/helper"
        try files.write("echo x >> \(files.path)/count; echo c4nary >&2; exit 1", to: "helper")
        let channels =
            channel("good", origin, "log: {}") + "\n"
            + channel("bad", origin, "auth: { bearer: 'exec:/bin/sh \(program)' }")
        try await DaemonHarness.run(channels: channels) { proxy in
            // Several attempts with the same result.
            #expect(
                await eventually {
                    _ = try? await proxy.exchange(Raw.get("/bad/1"))
                    return files.lines("count") > 2
                }
            )
            let reason = "channels.bad.auth.bearer: /bin/sh failed"
            let ready = try await proxy.ask(Raw.get("/readyz"))
            #expect(ready.status == 200)
            #expect(ready.body.hasPrefix("ready\nchannel bad: responds with 503: \(reason)"))
            let metrics = try await proxy.ask(Raw.get("/metrics")).body
            #expect(metrics.contains("netproxy_channel_up{channel=\"bad\"} 0\n"))
            #expect(metrics.contains("netproxy_channel_up{channel=\"good\"} 1\n"))
            let status = try #require(
                DaemonStatus(json: try await proxy.ask(Raw.get("/status")).body)
            )
            #expect(status.lines.contains { $0.hasPrefix("           \(reason)") })
            let why = try await proxy.ask(Raw.get("/why/bad")).body
            #expect(why.contains(reason) && !why.contains("c4nary"))
            let log = try await proxy.allLogs().split(separator: "\n")
            #expect(log.count { $0.contains("a channel refuses its requests") } == 1)
            // Only the operator may read the words of a program.
            let reports = proxy.reports.filter { $0.contains(reason) }
            #expect(reports.count == 1)
            #expect(reports.first?.contains("c4nary") == true)
            #expect(!(ready.body + log.joined() + status.lines.joined()).contains("c4nary"))
        }
    }

    @Test func `a channel serves without a reload once its secret is there`() async throws {
        let (origin, files) = (try await origin(), try Files())
        let channels = channel("bad", origin, "auth: { bearer: 'file:\(files.path)/key' }")
        try await DaemonHarness.run(channels: channels) { proxy in
            #expect(try await status("/bad/1", proxy) == 503)
            try files.write("late", to: "key")
            #expect(await eventually { (try? await status("/bad/1", proxy)) == 200 })
            #expect(try await body("/bad/1", proxy) == "Bearer late")
            #expect(try await status(of: "bad", proxy).reason == nil)
            #expect(try await proxy.ask(Raw.get("/readyz")).body == "ready\n")
            #expect(try await proxy.plan() == ["nothing would change: story.yaml"])
            #expect(try await proxy.allLogs().contains("a channel has everything that it names"))
        }
    }

    @Test func `without its access key a channel is closed, and needs the key afterwards`()
        async throws
    {
        let (origin, files) = (try await origin(), try Files())
        let keys = "access: { key: 'file:\(files.path)/key' }, auth: { bearer: 'literal:t' }"
        try await DaemonHarness.run(channels: channel("bad", origin, keys)) { proxy in
            for fields in [[], ["Proxy-Authorization: Bearer sesame"]] {
                let request = Raw.request("GET", "/bad/1", fields: fields)
                #expect(try await proxy.exchange(request).status == 503)
            }
            try files.write("sesame", to: "key")
            #expect(await eventually { (try? await status("/bad/1", proxy)) == 401 })
            let opened = Raw.request(
                "GET",
                "/bad/1",
                fields: ["Proxy-Authorization: Bearer sesame"]
            )
            #expect(try await proxy.exchange(opened).body == "Bearer t")
            #expect(origin.requests.count == 1)
        }
    }

    @Test func `an identity that cannot be read is read once for all its channels`() async throws {
        let (origin, files) = (try await origin(), try Files())
        let script = "cd \(files.path); echo x >> count; cat key"
        try files.write(script, to: "helper")
        let root = "identities: { work: { bearer: 'exec:/bin/sh \(files.path)/helper' } }"
        let channels = ["one", "two"].map { channel($0, origin, "auth: [work]") }
            .joined(separator: "\n")
        try await DaemonHarness.run(channels: channels, root: root) { proxy in
            #expect(files.lines("count") == 1)
            for name in ["one", "two"] {
                let refused = try await proxy.exchange(Raw.get("/\(name)/1"))
                #expect(refused.status == 503)
                #expect(refused.body.contains("identities.work.bearer: "))
            }
            #expect(await eventually { files.lines("count") == 2 })
            try files.write("late", to: "key")
            for name in ["one", "two"] {
                #expect(await eventually { (try? await status("/\(name)/1", proxy)) == 200 })
                #expect(try await body("/\(name)/1", proxy) == "Bearer late")
            }
            #expect(files.lines("count") <= 4)
        }
    }

    @Test func `a channel with several identities serves with those that can be read`()
        async throws
    {
        let (origin, files) = (try await origin(), try Files())
        let root = """
            identities: { work: { bearer: 'file:\(files.path)/key' }, spare: { bearer: 'literal:s' } }
            """
        let channels = channel("one", origin, "auth: [work, spare]")
        try await DaemonHarness.run(channels: channels, root: root) { proxy in
            #expect(try await body("/one/1", proxy) == "Bearer s")
            let found = try await status(of: "one", proxy)
            #expect(found.state != .failed)
            #expect(found.reason?.hasPrefix("identities.work.bearer: ") == true)
            try files.write("late", to: "key")
            #expect(await eventually { (try? await body("/one/1", proxy)) == "Bearer late" })
            #expect(try await status(of: "one", proxy).reason == nil)
        }
    }

    @Test func `an identity with an unusable secret closes a channel that has no other`()
        async throws
    {
        let origin = try await origin()
        let root = """
            identities:
              work: { bearer: 'literal:outer blank ' }
              spare: { bearer: 'literal:s' }
            """
        let channels =
            channel("both", origin, "auth: [work, spare]") + "\n"
            + channel("one", origin, "auth: [work]")
        try await DaemonHarness.run(channels: channels, root: root) { proxy async throws in
            for _ in 1...2 {
                #expect(try await body("/both/1", proxy) == "Bearer s")
                #expect(try await status(of: "both", proxy).reason?.contains("work") == true)
                #expect(try await status("/one/1", proxy) == 503)
                #expect(try await status(of: "one", proxy).state == .failed)
                await proxy.reload(channels: channels, root: root)
            }
        }
    }
}

extension ChannelOutageStory {
    /// Runs a story with a daemon that starts while the program of a channel waits for a named pipe.
    private func start(
        _ story: (_ daemon: Daemon, _ start: Task<Void, any Error>, Files) async throws -> Void
    ) async throws {
        let (origin, files) = (try await origin(), try Files())
        try files.write("cd \(files.path); mkfifo gate; cat gate", to: "helper")
        let configuration = try ConfigurationLoader.load(
            text: """
                listen: [127.0.0.1:0]
                admin: 127.0.0.1:0
                workers: 1
                state: \(files.path)/state
                log: { directory: \(files.path)/log }
                channels:
                  \(channel("good", origin, "log: {}"))
                  \(channel("slow", origin, "auth: { bearer: 'exec:/bin/sh \(files.path)/helper' }"))

                """,
            file: "n.yaml",
            environment: [:]
        ).get()
        let daemon = Daemon(
            configuration,
            DaemonSetup(report: { _ in }, readConfiguration: { .success(configuration) })
        )
        let start = Task { try await daemon.start(handlesSignals: false) }
        #expect(await eventually { await !daemon.adminAddresses.isEmpty })
        try await story(daemon, start, files)
        await daemon.stop()
    }

    private func connect(to address: SocketAddress?, _ request: String) async throws -> Wire {
        try await RawClient.connect(to: Int(address?.port ?? 0), sending: request)
    }

    @Test func `a slow program keeps its own channel waiting, and no other`() async throws {
        try await start { daemon, start, files in
            let address = await daemon.addresses.first
            let slow = try await connect(to: address, Raw.get("/slow/1"))
            let good = try await connect(to: address, Raw.get("/good/1"))
            #expect(try await good.message().status == 200)
            let probe = try await connect(to: daemon.adminAddresses.first, Raw.get("/readyz"))
            let ready = try await probe.message()
            #expect(ready.status == 503)
            #expect(ready.body.hasPrefix("starting\nchannel slow: "))
            #expect(await eventually { files.has("gate") })
            try files.openGate()
            #expect(try await slow.message().body == "Bearer token")
            try await start.value
        }
    }

    @Test func `a stop does not wait for a slow program`() async throws {
        try await start { daemon, start, files in
            #expect(await eventually { files.has("gate") })
            let slow = try await connect(to: daemon.addresses.first, Raw.get("/slow/1"))
            let began = ContinuousClock.now
            await daemon.stop()
            try await start.value
            #expect(ContinuousClock.now - began < .seconds(9))
            let left = try await slow.rest().text
            #expect(left.isEmpty || left.hasPrefix("HTTP/1.1 503 "))
        }
    }
}

extension ChannelOutageStory {
    @Test func `a reload keeps what has become unreadable, and applies the rest`() async throws {
        let (origin, files) = (try await origin(), try Files())
        try files.write("first", to: "key")
        let secret = "auth: { bearer: 'file:\(files.path)/key' }"
        let before = channel("one", origin, secret) + "\n" + channel("two", origin, "log: {}")
        try await DaemonHarness.run(channels: before) { proxy in
            try files.remove("key")
            let after =
                channel("one", origin, "\(secret), headers: { set: { X-New: a } }") + "\n"
                + channel("two", origin, "auth: { bearer: 'literal:t' }")
            let told = await proxy.reload(channels: after)
            #expect(told.first == "the configuration was reloaded: 2 channels, story.yaml")
            #expect(
                told.dropFirst().contains { $0.contains("channels.one.auth.bearer: cannot read") }
            )
            #expect(try await body("/one/1", proxy) == "Bearer first")
            #expect(origin.requests.last?["X-New"] == "a")
            #expect(try await body("/two/1", proxy) == "Bearer t")
            #expect(try await status(of: "one", proxy).state != .failed)
            try files.write("second", to: "key")
            #expect(await eventually { (try? await body("/one/1", proxy)) == "Bearer second" })
        }
    }

    @Test func `a channel stays as it was while its new secret cannot be read`() async throws {
        let (origin, files) = (try await origin(), try Files())
        try await DaemonHarness.run(
            channels: channel("one", origin, "auth: { bearer: 'literal:old' }")
        ) { proxy in
            let next = channel("one", origin, "auth: { bearer: 'file:\(files.path)/key' }")
            let told = await proxy.reload(channels: next)
            #expect(told.contains { $0.contains("the old one stays in force") })
            #expect(try await body("/one/1", proxy) == "Bearer old")
            try files.write("new", to: "key")
            #expect(await eventually { (try? await body("/one/1", proxy)) == "Bearer new" })
        }
    }

    @Test func `a channel that is to demand a key is closed until that is read`() async throws {
        let (origin, files) = (try await origin(), try Files())
        let auth = "auth: { bearer: 'literal:t' }"
        try await DaemonHarness.run(channels: channel("one", origin, auth)) { proxy in
            #expect(try await status("/one/1", proxy) == 200)
            let closed = "\(auth), access: { key: 'file:\(files.path)/key' }"
            await proxy.reload(channels: channel("one", origin, closed))
            #expect(try await status("/one/1", proxy) == 503)
            try files.write("sesame", to: "key")
            #expect(await eventually { (try? await status("/one/1", proxy)) == 401 })
        }
    }

    @Test func `a channel that a reload adds may lack its secret`() async throws {
        let (origin, files) = (try await origin(), try Files())
        try await DaemonHarness.run(channels: channel("one", origin, "log: {}")) { proxy in
            let next =
                channel("one", origin, "log: {}") + "\n"
                + channel("two", origin, "auth: { bearer: 'file:\(files.path)/key' }")
            await proxy.reload(channels: next)
            #expect(try await status("/one/1", proxy) == 200)
            #expect(try await status("/two/1", proxy) == 503)
            try files.write("late", to: "key")
            await proxy.reload(channels: next)
            #expect(try await body("/two/1", proxy) == "Bearer late")
        }
    }
}

extension ChannelOutageStory.Files {
    /// Writes a token to the program that reads from the named pipe `gate`.
    fileprivate func openGate() throws {
        let gate = try FileHandle(forWritingTo: URL(filePath: "\(path)/gate"))
        try gate.write(contentsOf: Data("token\n".utf8))
        try gate.close()
    }
}
