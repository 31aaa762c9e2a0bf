import ArgumentParser
import FoundationEssentials
import NetproxyChannels
import NetproxyCommands
import NetproxyConfig
import NetproxyPresets
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

    @Test func `init writes a valid channel for each provider`() throws {
        let presets = PresetCatalog.names.compactMap(PresetCatalog.preset(named:))
        let text = InitCommand.text(for: presets + presets, keysIn: "/keys")
        let channels = try load(text).get().channels
        #expect(channels.map(\.name) == PresetCatalog.names)
        #expect(channels.compactMap(\.preset) == PresetCatalog.names)
        #expect(text.contains("      key: \"file:/keys/openai.key\"\n"))
        #expect(text.contains("      secret_access_key: \"file:/keys/aws.key\"\n"))
    }

    @Test func `the key file of a provider may be missing, which check notes`() throws {
        let preset = try #require(PresetCatalog.preset(named: "openai"))
        let configuration = try load(InitCommand.text(for: [preset], keysIn: "/nowhere")).get()
        let checker = ConfigurationChecker(resolver: SecretResolver(environment: [:]))
        let problems = checker.problems(of: configuration).map(\.message)
        #expect(!problems.contains { $0.contains("openai.key") })
        #expect(
            configuration.unwrittenKeyNotes.map(\.message) == [
                "note: /nowhere/openai.key does not exist yet; put the secret into it: "
                    + "https://platform.openai.com/api-keys"
            ]
        )
    }
}
