import FoundationEssentials
import NetproxyConfig
import NetproxyPresets
import Testing

/// The providers in the embedded file.
@Suite struct PresetCatalogTests {
    static let all = PresetCatalog.names.compactMap(PresetCatalog.preset(named:))

    private func preset(_ name: String) throws -> ProviderPreset {
        try #require(PresetCatalog.preset(named: name))
    }

    @Test func `the catalog has the promised providers`() {
        #expect(
            PresetCatalog.names == [
                "openai", "anthropic", "gemini", "openrouter", "mistral", "groq", "azure-openai",
                "github", "gitlab", "slack", "stripe", "notion", "linear", "jira", "google",
                "microsoft", "spotify", "huggingface", "npm", "pypi", "cloudflare", "digitalocean",
                "sentry", "aws", "kubernetes", "cargo",
            ]
        )
    }

    @Test func `the embedded file is that of the configuration folder`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let file = root.appending(path: "config/presets.yaml")
        let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        for preset in Self.all {
            #expect(text.contains("\n\(preset.name):\n  title: \(preset.title)\n"))
            for source in preset.sources { #expect(text.contains("- \(source)\n")) }
        }
    }

    @Test(arguments: PresetCatalog.names)
    func `a preset states where its facts come from`(name: String) throws {
        let preset = try preset(name)
        #expect(!preset.sources.isEmpty)
        #expect(preset.sources.allSatisfy { $0.hasPrefix("https://") })
        #expect(preset.checked.wholeMatch(of: /20\d\d-\d\d-\d\d|never/) != nil)
        #expect(!preset.refusal.isEmpty)
        #expect(!preset.demands.isEmpty)
        #expect(!preset.channelText.isEmpty)
    }

    @Test(arguments: PresetCatalog.names)
    func `a preset with its parameters is a valid channel`(name: String) throws {
        let preset = try preset(name)
        for necessity in [true, false] {
            let parameters = preset.parameters.filter { necessity || $0.necessity == .required }
            let with = parameters.map { parameter in
                parameter.kind == .secret
                    ? "\(parameter.name): env:A" : "\(parameter.name): '\(parameter.example ?? "")'"
            }
            let channel =
                "{ preset: \(preset.name), with: { \(with.joined(separator: ", ")) } }"
            let configuration = try ConfigurationLoader.load(
                text: "channels: { a: \(channel) }",
                file: "n.yaml",
                environment: ["HOME": "/home/a"]
            ).get()
            #expect(configuration.channels[0].preset == preset.name)
            #expect(!configuration.channels[0].credentials.isEmpty)
        }
    }

    @Test(arguments: PresetCatalog.names)
    func `a preset's secrets name their variables, and its texts have examples`(name: String) throws
    {
        let preset = try preset(name)
        for parameter in preset.parameters {
            switch parameter.kind {
            case .secret: #expect(!parameter.variables.isEmpty, "\(parameter.name)")
            case .text: #expect(parameter.example != nil, "\(parameter.name)")
            }
        }
    }

    @Test func `an unknown name is reported with the nearest one`() {
        #expect(
            PresetCatalog.unknown("antropic")
                == "there is no preset 'antropic', did you mean 'anthropic'? netproxy preset lists them"
        )
        #expect(
            PresetCatalog.unknown("example-api")
                == "there is no preset 'example-api'; netproxy preset lists them"
        )
    }
}
