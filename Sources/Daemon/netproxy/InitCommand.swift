import ArgumentParser
import FoundationEssentials
import NetproxyConfig
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

    func run() throws {
        let environment = ProcessInfo.processInfo.environment
        // The file does not exist yet, and a demo's file is not a candidate.
        let path =
            file.config ?? environment["NETPROXY_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
            ?? ConfigurationLocator.personal(environment) ?? ConfigurationLocator.system
        do {
            if let slash = path.lastIndex(of: "/"), slash > path.startIndex {
                try FileSystem.makeDirectory(String(path[..<slash]), mode: 0o755)
            }
            try FileDescriptor(path, .createPrivate).writeAll(Array(InitCommand.text.utf8))
        } catch  where error.isTaken {
            try StandardError.fail("\(path) exists already, and is never overwritten")
        } catch {
            try StandardError.fail("cannot write \(path): \(error.reason)")
        }
        let option = file.config.map { " --config \($0)" } ?? ""
        try StandardOutput.write(
            "wrote \(path); set the upstream and its credential there, then: netproxy check\(option) "
                + "&& netproxy run\(option)"
        )
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
