import ArgumentParser
import FoundationEssentials
import NetproxyConfig
import NetproxyPresets
import NetproxySystem

struct InitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Write a configuration to start from.",
        discussion: """
            Writes to --config, else to $NETPROXY_CONFIG, else to netproxy/netproxy.yaml in \
            $XDG_CONFIG_HOME (~/.config). An existing file is never overwritten.
            """
    )

    @OptionGroup var file: ConfigurationOption
    @Option(
        name: .customLong("for"),
        help: "A built-in provider to add as a channel; may be repeated.",
        completion: .presets
    )
    var presets: [String] = []

    func run() throws {
        let environment = ProcessInfo.processInfo.environment
        let presets = try presets.map(PresetCommand.preset)
        // The file does not exist yet, and a demo's file is not a candidate.
        let path = InitCommand.path(file, environment) ?? ConfigurationLocator.system
        let directory = InitCommand.directory(of: path)
        let text =
            presets.isEmpty
            ? InitCommand.text : InitCommand.text(for: presets, keysIn: directory)
        do {
            if let slash = path.lastIndex(of: "/"), slash > path.startIndex {
                try FileSystem.makeDirectory(String(path[..<slash]), mode: 0o755)
            }
            try FileDescriptor(path, .createPrivate).writeAll(Array(text.utf8))
        } catch  where error.isTaken {
            try StandardError.fail("\(path) exists already, and is never overwritten")
        } catch {
            try StandardError.fail("cannot write \(path): \(error.reason)")
        }
        let option = file.config.map { " --config \($0)" } ?? ""
        let next = "netproxy check\(option) && netproxy run\(option)"
        guard !presets.isEmpty else {
            return try StandardOutput.write(
                "wrote \(path); set the upstream and its credential there, then: \(next)"
            )
        }
        let steps = presets.flatMap { InitCommand.steps(for: $0, keysIn: directory) }
        try StandardOutput.write(
            (["wrote \(path)"] + steps + ["then: \(next)"]).joined(separator: "\n")
        )
    }

    /// Returns the absolute directory of a file.
    private static func directory(of path: String) -> String {
        let absolute =
            path.hasPrefix("/") ? path : "\(FileManager.default.currentDirectoryPath)/\(path)"
        return String(absolute.prefix(upTo: absolute.lastIndex(of: "/") ?? absolute.endIndex))
    }

    /// Returns the text of a new configuration with channels for providers.
    static func text(for presets: [ProviderPreset], keysIn directory: String) -> String {
        var lines = [
            "# netproxy. After a change: netproxy check, then netproxy reload.",
            "listen: [127.0.0.1:8080]", "", "channels:",
        ]
        var names: Set<String> = []
        for preset in presets where names.insert(preset.name).inserted {
            lines.append("  # \(preset.title): http://127.0.0.1:8080/\(preset.name)/…")
            if preset.hasExamples {
                lines.append("  # Replace the examples: netproxy preset \(preset.name)")
            }
            lines += preset.channelLines(with: preset.sampleValues(keysIn: directory))
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns the steps that remain for a provider.
    private static func steps(for preset: ProviderPreset, keysIn directory: String) -> [String] {
        let secrets = preset.secrets.filter { $0.necessity == .required }.map { secret in
            let file = "\(directory)/\(preset.keyFile(of: secret))"
            return "  put \(secret.name) into \(file): \(secret.create)"
        }
        let signIn = preset.needsSignIn ? ["  sign in: netproxy login \(preset.name)"] : []
        return ["\(preset.name): http://127.0.0.1:8080/\(preset.name)"] + secrets + signIn
    }

    /// Returns the file to write: `--config`, `$NETPROXY_CONFIG`, or the user's own.
    static func path(_ file: ConfigurationOption, _ environment: [String: String]) -> String? {
        file.config ?? environment["NETPROXY_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
            ?? ConfigurationLocator.personal(environment)
    }

    /// The text of a new configuration, valid as it is and with any of its examples uncommented.
    static let text = """
        # netproxy. After a change: netproxy check, then netproxy reload.
        listen: [127.0.0.1:8080]

        # Adds a page at http://127.0.0.1:8081/ and /metrics for Prometheus.
        # admin: [unix:/tmp/netproxy-admin.sock, 127.0.0.1:8081]

        channels:
          # http://127.0.0.1:8080/example/… goes to https://api.example.com/…
          example:
            upstream: https://api.example.com
            # What netproxy adds to each request: one of these. A secret is file:/path, env:NAME or exec:/path.
            # auth: { bearer: "env:EXAMPLE_TOKEN" }
            # auth: { header: { name: X-Api-Key, value: "file:/path/to/key" } }
            # auth: { basic: { username: me, password: "file:/path/to/password" } }
            # auth:
            #   oauth:
            #     grant: client_credentials    # authorization_code: sign in with netproxy login example
            #     token_url: https://login.example.com/token
            #     client_id: my-client
            #     client_secret: file:/path/to/secret
            #     scopes: [read]
            # headers: { default: { User-Agent: my-app/1.0 } }

        """
}
