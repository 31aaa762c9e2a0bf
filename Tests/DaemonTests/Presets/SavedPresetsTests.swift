import FoundationEssentials
import NetproxyConfig
import NetproxyPresets
import NetproxySystem
import Testing

@testable import NetproxyCommands

/// `netproxy exec --save`.
@Suite struct SavedPresetsTests {
    private func inDirectory(_ test: (String) throws -> Void) throws {
        let directory = FileManager.default.temporaryDirectory
            .appending(path: "netproxy-save-\(UInt64.random(in: 0 ... .max))").path()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try test(directory)
    }

    private func prepared(_ name: String, _ secret: String) throws -> PreparedPreset {
        let preset = try #require(PresetCatalog.preset(named: name))
        let key = try #require(preset.parameter("key"))
        return PreparedPreset(preset: preset, values: [(key, .secret(secret))])
    }

    private func mode(_ path: String) throws -> UInt32 {
        try FileStatus.of(path: path).permissions
    }

    private func text(_ path: String) -> String {
        String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    }

    @Test func `a new configuration and the key are written for their owner only`() throws {
        try inDirectory { directory in
            let path = "\(directory)/netproxy.yaml"
            let files = try SavedPresets(to: path, environment: ["HOME": directory])
                .save([try prepared("anthropic", "c4nary")])
            let names = files.map { $0.split(separator: "/").last }
            #expect(names == ["netproxy.yaml", "anthropic.key"])
            for file in files { #expect(try mode(file) == 0o600) }
            #expect(text("\(directory)/anthropic.key") == "c4nary\n")
            #expect(!text(path).contains("c4nary"))
            let configuration = try ConfigurationLoader.load(
                text: text(path),
                file: path,
                environment: ["HOME": directory]
            ).get()
            #expect(configuration.channels.map(\.preset) == ["anthropic"])
        }
    }

    @Test func `a configuration keeps its text and gets a channel, once`() throws {
        try inDirectory { directory in
            try FileManager.default.createDirectory(
                atPath: directory,
                withIntermediateDirectories: true
            )
            let path = "\(directory)/netproxy.yaml"
            let own = "    # the first\n    a: { upstream: https://a.example }\n"
            let before = "# mine\nchannels:\n" + own
            try Data(before.utf8).write(to: URL(filePath: path))
            let saved = SavedPresets(to: path, environment: ["HOME": directory])
            _ = try saved.save([try prepared("openai", "k")])
            let after = text(path)
            #expect(after.hasPrefix("# mine\nchannels:\n    openai:\n      preset: openai\n"))
            #expect(after.hasSuffix(own))
            #expect(throws: SavedPresets.Failure.self) {
                _ = try saved.save([try prepared("openai", "k")])
            }
            #expect(text(path) == after)
        }
    }

    @Test func `an existing key file is not overwritten`() throws {
        try inDirectory { directory in
            try FileManager.default.createDirectory(
                atPath: directory,
                withIntermediateDirectories: true
            )
            try Data("mine".utf8).write(to: URL(filePath: "\(directory)/openai.key"))
            let saved = SavedPresets(to: "\(directory)/n.yaml", environment: ["HOME": directory])
            #expect(throws: SavedPresets.Failure.self) {
                _ = try saved.save([try prepared("openai", "k")])
            }
            #expect(text("\(directory)/openai.key") == "mine")
            #expect(!FileManager.default.fileExists(atPath: "\(directory)/n.yaml"))
        }
    }

    @Test func `channels that are not a block are left alone`() {
        #expect(ChannelInsertion.text("channels: { a: {} }\n", adding: ["  b: {}"]) == nil)
        #expect(
            ChannelInsertion.text("listen: [127.0.0.1:1]", adding: ["  b: {}"])
                == "listen: [127.0.0.1:1]\n\nchannels:\n  b: {}\n"
        )
        #expect(ChannelInsertion.text(nil, adding: ["  b: {}"]) == "channels:\n  b: {}\n")
    }
}
