import ArgumentParser
import FoundationEssentials
import NetproxyConfig
import NetproxyPresets

struct PresetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "preset",
        abstract: "List the built-in providers, or show one.",
        discussion: """
            A channel with `preset: NAME` has the provider's upstream, credential, headers and variables; \
            `with` contains the parameters, such as the key. Every key of the channel overrides the preset.
            """
    )

    @Argument(help: "The provider.", completion: .presets)
    var name: String?

    func run() throws {
        guard let name else { return try StandardOutput.write(PresetCommand.list) }
        let lines = try PresetCommand.preset(name).lines(keysIn: PresetCommand.directory)
        try StandardOutput.write(lines.joined(separator: "\n"))
    }

    /// The directory of the user's configuration.
    private static var directory: String {
        let path = ConfigurationLocator.personal(ProcessInfo.processInfo.environment)
        return path.map { String($0.prefix(upTo: $0.lastIndex(of: "/") ?? $0.endIndex)) }
            ?? "/etc/netproxy"
    }

    /// Returns a preset; ends the command with 64 if there is none with this name.
    static func preset(_ name: String) throws -> ProviderPreset {
        if let preset = PresetCatalog.preset(named: name) { return preset }
        try StandardError.fail(PresetCatalog.unknown(name), .validationFailure)
    }

    /// The names and titles, in columns.
    static var list: String {
        let presets = PresetCatalog.names.compactMap(PresetCatalog.preset(named:))
        let width = presets.map(\.name.count).max() ?? 0
        return presets.map { preset in
            let gap = String(repeating: " ", count: width - preset.name.count + 2)
            return preset.name + gap + preset.title
        }.joined(separator: "\n")
    }
}

extension CompletionKind {
    /// The names of the built-in providers.
    static var presets: CompletionKind { .list(PresetCatalog.names) }
}
