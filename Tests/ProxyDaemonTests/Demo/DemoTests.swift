import EventIO
import Foundation
import ProxyDaemon
import TestSupport
import Testing

@Suite struct DemoTests {
    @Test func `a demo whose port is taken says so and leaves nothing running`() async throws {
        let address = try #require(SocketAddress(ip: "127.0.0.1", port: 0))
        let taken = try ListeningSocket(address)
        let demo = try await Demo(port: taken.address.port ?? 0, console: .off, report: { _ in })
        let error = await #expect(throws: (any Error).self) {
            try await demo.start(handlesSignals: false)
        }
        #expect("\(try #require(error))".contains("Address already in use"))
        let text = demo.configurationText
        let state = try #require(text.split(separator: "\n").first { $0.hasPrefix("state: ") })
        let directory = String(state.dropFirst("state: ".count).dropLast("/state".count))
        #expect(!FileManager.default.fileExists(atPath: directory))
    }
}
