import FoundationEssentials
import TestSupport
import Testing

/// Who may open the unix sockets.
@Suite struct SocketModeStory {
    @Test func `a socket is its group's, and the admin socket its owner's alone`() async throws {
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
            #expect(try mode("admin") == 0o600)
        }
    }
}
