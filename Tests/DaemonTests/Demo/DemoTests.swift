import Foundation
import NetproxyCommands
import NetproxyConfig
import NetproxyEventIO
import NetproxyPath
import NetproxyService
import TestSupport
import Testing

@Suite struct DemoTests {
    @Test func `a demo on a busy port reports an error and leaves nothing running`() async throws {
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
        let taken = try ListeningSocket(address)
        let directory = try DemoDirectory.makeOwn([:])
        let demo = try await Demo(
            port: taken.address.port ?? 0,
            in: directory,
            console: .off,
            report: { _ in }
        )
        let error = await #expect(throws: (any Error).self) {
            try await demo.start(handlesSignals: false)
        }
        #expect("\(try #require(error))".contains("Address already in use"))
        #expect(!FileManager.default.fileExists(atPath: directory.path))
    }

    /// Runs the body with a directory for demos that no other test uses.
    private func withPlace(_ body: ([String: String]) async throws -> Void) async throws {
        let place = "/tmp/netproxy-place-\(UInt64.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(
            atPath: place,
            withIntermediateDirectories: false
        )
        defer { try? FileManager.default.removeItem(atPath: place) }
        try await body(["XDG_RUNTIME_DIR": place])
        #expect(try FileManager.default.contentsOfDirectory(atPath: place).isEmpty)
    }

    @Test func `commands find a running demo but not a stopped one`() async throws {
        try await withPlace { environment in
            let directory = try DemoDirectory.make(environment)
            #expect(DemoDirectory.running(environment) == nil)
            let demo = try await Demo(port: 0, in: directory, console: .off, report: { _ in })
            let address = try await demo.start(handlesSignals: false)
            let file = try #require(DemoDirectory.running(environment))
            #expect(file == directory.configuration)
            let text = String(decoding: try #require(contents(file)), as: UTF8.self)
            #expect(text == address.configuration)
            let loaded = ConfigurationLoader.load(text: text, file: file, environment: [:])
            let configuration = try loaded.get()
            #expect(configuration.listen.map(\.description) == ["\(address.proxy)"])
            let status = try await AdminClient(configuration.admin).send(.status)
            #expect(status.text.contains(#""orders""#))
            #expect(try await AdminClient([configuration.admin[1]]).send(.page).status == 200)
            await demo.stop()
            #expect(DemoDirectory.running(environment) == nil)
        }
    }

    @Test func `commands ignore the files of a killed demo, and the next demo removes them`()
        async throws
    {
        try await withPlace { environment in
            let killed = try DemoDirectory.make(environment)
            try killed.publish("channels: {}")
            let left = "\(killed.path)/state"
            try FileManager.default.createDirectory(
                atPath: left,
                withIntermediateDirectories: false
            )
            #expect(DemoDirectory.running(environment) == killed.configuration)
            try killed.abandon()
            #expect(DemoDirectory.running(environment) == nil)
            let next = try DemoDirectory.make(environment)
            #expect(next.path == killed.path)
            #expect(!FileManager.default.fileExists(atPath: left))
            // A second demo at the same time gets another directory.
            let other = try DemoDirectory.make(environment)
            #expect(other.path != next.path)
            other.remove()
            next.remove()
        }
    }

    @Test(arguments: [0o755, 0o777])
    func `a directory that other users can enter is not trusted`(mode: Int) async throws {
        try await withPlace { environment in
            let directory = try DemoDirectory.make(environment)
            try directory.publish("channels: {}")
            func set(_ mode: Int) throws {
                try FileManager.default.setAttributes(
                    [.posixPermissions: mode],
                    ofItemAtPath: directory.path
                )
            }
            try set(mode)
            #expect(DemoDirectory.running(environment) == nil)
            try set(0o700)
            #expect(DemoDirectory.running(environment) == directory.configuration)
            directory.remove()
        }
    }

    private func contents(_ path: String) -> Data? { FileManager.default.contents(atPath: path) }
}
