import NetproxyChannels
import NetproxyConfig
import NetproxyPath
import NetproxyPresets
package import NetproxyService
import NetworkCore

/// A proxy in the process of `netproxy exec --with`, for one program.
///
/// Its ports are free ones, its channels require the program's key, and its secrets are in memory only.
package actor PrivateInstance {
    private let daemon: Daemon
    private let directory: PrivateDirectory
    private var held: OwnLease?

    /// Prepares the channels of some presets.
    ///
    /// - Parameters:
    ///   - presets: the presets and the values of their parameters.
    ///   - environment: the environment of the process.
    ///   - report: receives messages about the proxy.
    /// - Throws: `ConfigurationErrors` about an unusable value, or `FileError`.
    package init(
        _ presets: [PreparedPreset],
        environment: [String: String],
        report: @escaping @Sendable (String) -> Void
    ) throws {
        directory = try PrivateDirectory.make(environment)
        do {
            let draft = PrivateConfiguration(presets, in: directory.path)
            let loaded = draft.loaded
            var setup = DaemonSetup(report: report, readConfiguration: { loaded })
            setup.environment = draft.environment(adding: environment)
            daemon = Daemon(try loaded.get(), setup)
        } catch {
            directory.remove()
            throw error
        }
    }

    /// Starts the proxy.
    ///
    /// - Returns: the key and the variables for the program.
    /// - Throws: an error that names the part that could not be started.
    package func start() async throws -> ClientLease {
        do {
            try await daemon.start(handlesSignals: false)
            guard let held = await daemon.lendToOwner() else { throw CancellationError() }
            self.held = held
            return held.lease
        } catch {
            await stop()
            throw error
        }
    }

    /// Revokes the key, stops the proxy and removes its files.
    package func stop() async {
        held?.end()
        held = nil
        await daemon.stop()
        directory.remove()
    }
}

/// The configuration of a private instance, which refers to secrets by variables of its own.
struct PrivateConfiguration {
    /// The variable with the key that the channels require.
    private static let key = "NETPROXY_PRIVATE_KEY"

    private(set) var text: String
    private var secrets: [String: String] = [:]

    init(_ presets: [PreparedPreset], in directory: String) {
        let place = ProviderPreset.quoted("\(directory)/state")
        let log = ProviderPreset.quoted("\(directory)/log")
        secrets[Self.key] = ClientKeys.makeUnknown().reveal()
        text = """
            listen: [127.0.0.1:0]
            admin: off
            workers: 1
            drain: 0s
            unmatched: forward
            state: \(place)
            log: { directory: \(log) }
            channels:

            """
        for prepared in presets {
            var values: [(parameter: String, value: String)] = []
            for (parameter, value) in prepared.values {
                switch value {
                case .text(let text), .reference(let text): values.append((parameter.name, text))
                case .secret(let secret):
                    let variable = "NETPROXY_PRIVATE_SECRET_\(secrets.count)"
                    secrets[variable] = secret
                    values.append((parameter.name, "env:\(variable)"))
                }
            }
            var keys = [
                "match: { listen: 127.0.0.1:0 }", "access: { key: \"env:\(Self.key)\" }",
            ]
            if let upstream = prepared.upstream {
                keys.append("upstream: \(ProviderPreset.quoted(upstream))")
            }
            let lines = prepared.preset.channelLines(with: values, keys: keys)
            text += lines.joined(separator: "\n") + "\n"
        }
    }

    var loaded: Result<ProxyConfiguration, ConfigurationErrors> {
        ConfigurationLoader.load(text: text, file: "exec --with", environment: [:])
    }

    /// Returns the environment with the secrets, and without the connections to systemd, which belong to
    /// the process that started this one.
    func environment(adding inherited: [String: String]) -> [String: String] {
        var environment = inherited
        for name in [
            "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_FDS", "LISTEN_FDNAMES",
            "LISTEN_PID",
        ] {
            environment[name] = nil
        }
        return environment.merging(secrets) { _, own in own }
    }
}
