import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// The access modes of the unix sockets.
@Suite struct SocketModeStory {
    @Test func `a socket is accessible to its owner and its group`() async throws {
        let directory = FileManager.default.temporaryDirectory
            .appending(path: "sockets-\(UInt64.random(in: 0 ... .max))").path()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try FileManager.default.createDirectory(
            atPath: directory,
            withIntermediateDirectories: false
        )
        func mode(_ name: String) throws -> Int? {
            let attributes = try FileManager.default.attributesOfItem(
                atPath: "\(directory)/\(name)"
            )
            return attributes[.posixPermissions].flatMap { Int("\($0)") }
        }
        try await DaemonHarness.run(
            channels: "orders: { upstream: http://127.0.0.1:1 }",
            root: "listen: [\"unix:\(directory)/data\"]\nadmin: \"unix:\(directory)/admin\""
        ) { _ async throws in
            #expect(try mode("data") == 0o660)
            #expect(try mode("admin") == 0o660)
        }
    }

    @Test func `the kernel identifies the client of a unix socket`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok() }
        let upstream = "upstream: http://127.0.0.1:\(origin.port)"
        let channels = """
            mine: { \(upstream), access: { users: [\(getuid())] } }
            others: { \(upstream), access: { users: [\(getuid() + 1)] } }
            """
        try await DaemonHarness.run(channels: channels) { proxy in
            let path = "\(proxy.directory)/s"
            await proxy.reload(channels: channels, root: "listen: ['unix:\(path)']")
            let app = try await RawClient.connect(path: path)
            try await app.send(Raw.get("/mine/1"))
            #expect(try await app.message().status == 200)
            try await app.send(Raw.get("/others/1"))
            #expect(try await app.message().status == 403)
            #expect(origin.requests.count == 1)
            let line = try await proxy.onlyLine("mine").text
            #expect(line.contains(#""client":"unix","client_uid":\#(getuid()),"#))
            #expect(line.contains(#","client_pid":\#(getpid()),"#))
        }
    }
}
