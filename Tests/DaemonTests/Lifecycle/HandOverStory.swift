import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// Listeners that a reload assigns to another channel; the socket stays open.
@Suite struct HandOverStory {
    private let failure = "the old one stays in force"

    private func origin(_ name: String) async throws -> OriginServer {
        try await OriginServer.start { _ in Raw.ok(name) }
    }

    private func channel(_ name: String, _ origin: OriginServer, _ listen: String = "null")
        -> String
    {
        "\(name): { upstream: 'http://127.0.0.1:\(origin.port)', match: { listen: '\(listen)' } }"
            .replacing("'null'", with: "null")
    }

    private func ask(_ port: Int) async throws -> String {
        try await RawClient.connect(to: port, sending: Raw.get("/1")).message().body
    }

    @Test func `a channel with its own listener can be renamed`() async throws {
        let (old, new) = try await (origin("old"), origin("new"))
        try await DaemonHarness.run(channels: channel("orders", old, "127.0.0.1:0")) {
            proxy async throws in
            let ports = await proxy.ports
            let app = try await RawClient.connect(to: ports[1], sending: Raw.get("/1"))
            #expect(try await app.message().body == "old")
            await proxy.reload(channels: channel("bills", new, "127.0.0.1:\(ports[1])"))
            #expect(!proxy.reports.contains(failure))
            #expect(await proxy.ports == ports)
            // The connection stays open and belongs to the new channel.
            try await app.send(Raw.get("/2"))
            #expect(try await app.message().body == "new")
            #expect(try await ask(ports[1]) == "new")
            #expect(try await proxy.log("bills").map(\.facts.status) == [200, 200])
        }
    }

    @Test func `two channels can exchange their listeners`() async throws {
        let (one, two) = try await (origin("one"), origin("two"))
        let before = [channel("a", one, "127.0.0.1:0"), channel("b", two, "127.0.0.1:0")]
        try await DaemonHarness.run(channels: before.joined(separator: "\n")) {
            proxy async throws in
            let ports = await proxy.ports
            #expect(try await ask(ports[1]) == "one")
            let after = [
                channel("a", one, "localhost:\(ports[2])"),
                channel("b", two, "127.0.0.1:\(ports[1])"),
            ]
            await proxy.reload(channels: after.joined(separator: "\n"))
            #expect(!proxy.reports.contains(failure))
            #expect(try await ask(ports[1]) == "two")
            #expect(try await ask(ports[2]) == "one")
        }
    }

    @Test func `a listener can move to a channel and back`() async throws {
        let origin = try await origin("here")
        try await DaemonHarness.run(
            channels: channel("orders", origin),
            root: "listen: ['127.0.0.1:0', 'localhost:0']"
        ) { proxy async throws in
            let ports = await proxy.ports
            let address = "127.0.0.1:\(ports[1])"
            await proxy.reload(channels: channel("orders", origin, address))
            #expect(try await ask(ports[1]) == "here")
            await proxy.reload(
                channels: channel("orders", origin),
                root: "listen: ['127.0.0.1:0', '\(address)']"
            )
            #expect(!proxy.reports.contains(failure))
            #expect(await proxy.ports == ports)
            let app = try await RawClient.connect(to: ports[1], sending: Raw.get("/1"))
            #expect(try await app.message().status == 404)
        }
    }

    @Test func `a unix socket keeps its file when its channel changes`() async throws {
        let origin = try await origin("here")
        try await DaemonHarness.run(channels: channel("orders", origin)) { proxy async throws in
            let path = "\(proxy.directory)/s"
            let files = FileManager.default
            for channels in [
                channel("orders", origin, "unix:\(path)"), channel("bills", origin, "unix:\(path)"),
            ] {
                await proxy.reload(channels: channels)
                #expect(files.fileExists(atPath: path))
            }
            #expect(!proxy.reports.contains(failure))
            await proxy.reload(channels: channel("bills", origin))
            // The last reference can belong to a loop.
            #expect(await eventually { !files.fileExists(atPath: path) })
        }
    }

    /// Creates a descriptor that listens on its own port; the story hands it over.
    private func descriptor(on address: UInt32 = INADDR_LOOPBACK) -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var place = sockaddr_in()
        place.sin_family = sa_family_t(AF_INET)
        place.sin_addr.s_addr = address.bigEndian
        let bound = unsafe withUnsafePointer(to: &place) { place in
            unsafe place.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        #expect(bound == 0)
        #expect(listen(descriptor, 16) == 0)
        return descriptor
    }

    @Test func `a systemd socket survives reloads that do not use it`() async throws {
        let origin = try await origin("here")
        let without = channel("orders", origin)
        try await DaemonHarness.run(
            channels: channel("orders", origin, "systemd:api"),
            inherited: ["api": [descriptor()]]
        ) { proxy async throws in
            let ports = await proxy.ports
            #expect(try await ask(ports[1]) == "here")
            await proxy.reload(channels: without)
            #expect(await proxy.ports == [ports[0]])
            await proxy.reload(channels: channel("orders", origin, "systemd:api"))
            #expect(await proxy.ports == ports)
            #expect(try await ask(ports[1]) == "here")
            await proxy.reload(channels: channel("bills", origin, "systemd:api"))
            #expect(!proxy.reports.contains(failure))
            #expect(try await ask(ports[1]) == "here")
        }
    }

    @Test func `a systemd socket that other machines can reach is refused unless allowed`()
        async throws
    {
        let origin = try await origin("here")
        let refusal = "is not a loopback address, set allow_remote: true"
        let inside = channel("orders", origin)
        let outside = channel("orders", origin, "systemd:api")
        try await DaemonHarness.run(
            channels: inside,
            inherited: ["api": [descriptor(on: INADDR_ANY)]]
        ) { proxy async throws in
            let ports = await proxy.ports
            await proxy.reload(channels: outside)
            let report = proxy.reports.first ?? ""
            #expect(report.hasPrefix("cannot listen on systemd:api: '0.0.0.0:"))
            #expect(report.hasSuffix(refusal))
            #expect(await proxy.ports == ports)
        }
        let error = await #expect(throws: (any Error).self) {
            try await DaemonHarness.run(
                channels: outside,
                inherited: ["api": [descriptor(on: INADDR_ANY)]]
            ) { _ in }
        }
        #expect("\(String(describing: error))".contains(refusal))
        try await DaemonHarness.run(
            channels: outside,
            root: "allow_remote: true",
            inherited: ["api": [descriptor(on: INADDR_ANY)]]
        ) { proxy async throws in
            let ports = await proxy.ports
            #expect(try await ask(ports[1]) == "here")
        }
    }

    @Test func `the error for a descriptor that does not listen contains its name`() async throws {
        let origin = try await origin("here")
        let idle = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(idle) }
        try await DaemonHarness.run(
            channels: channel("orders", origin),
            inherited: ["api": [idle]]
        ) { proxy async throws in
            await proxy.reload(channels: channel("orders", origin, "systemd:api"))
            #expect(
                proxy.reports.contains(
                    "cannot listen on systemd:api: descriptor \(idle) is not a listening socket"
                )
            )
        }
    }
}
