import ArgumentParser
import FoundationEssentials
import NetproxyConfig
import Testing

@testable import netproxy

/// The configuration that `netproxy init` writes.
@Suite struct InitTests {
    private func load(_ text: String) -> Result<ProxyConfiguration, ConfigurationErrors> {
        ConfigurationLoader.load(text: text, file: "n.yaml", environment: ["HOME": "/home/a"])
    }

    @Test func `the initial configuration is valid, short and commented`() throws {
        let lines = InitCommand.text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 25)
        #expect(lines.count { $0.contains("#") } > 5)
        #expect(try load(InitCommand.text).get().channels.map(\.name) == ["example"])
    }

    @Test(arguments: [
        "# admin:", "# auth: { bearer", "# auth: { header", "# auth: { basic", "# headers:",
    ])
    func `each example of the initial configuration is valid`(example: String) throws {
        #expect(InitCommand.text.contains(example))
        let text = InitCommand.text.replacing(example, with: String(example.dropFirst(2)))
        #expect(try load(text).get().channels.count == 1)
    }

    @Test func `the OAuth example of the initial configuration is valid`() throws {
        let lines = InitCommand.text.split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex { $0.hasSuffix("# auth:") })
        let text = lines.enumerated().map { index, line in
            (start...(start + 6)).contains(index)
                ? String(line).replacing("    # ", with: "    ", maxReplacements: 1) : String(line)
        }
        let channel = try load(text.joined(separator: "\n")).get().channels[0]
        guard let settings = channel.credentials.first?.oauth else {
            Issue.record("\(channel.authentication)")
            return
        }
        #expect(settings.scopes == ["read"])
    }

    @Test func `init never overwrites a file`() throws {
        let place = FileManager.default.temporaryDirectory
            .appending(path: "netproxy-init-\(UInt64.random(in: 0 ... .max))").path()
        defer { try? FileManager.default.removeItem(atPath: place) }
        let path = "\(place)/below/netproxy.yaml"
        let command = try #require(
            try Netproxy.parseAsRoot(["init", "--config", path]) as? InitCommand
        )
        try command.run()
        #expect(FileManager.default.contents(atPath: path) == Data(InitCommand.text.utf8))
        try Data("mine".utf8).write(to: URL(filePath: path))
        #expect(throws: (any Error).self) { try command.run() }
        #expect(FileManager.default.contents(atPath: path) == Data("mine".utf8))
    }
}
