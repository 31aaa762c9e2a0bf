import ArgumentParser
import FoundationEssentials
import ProxyConfig

/// The option that every command with a configuration has.
struct ConfigurationOption: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The configuration file.",
            discussion: """
                Else $NETPROXY_CONFIG, else netproxy/netproxy.yaml in $XDG_CONFIG_HOME \
                (~/.config), else /etc/netproxy/netproxy.yaml.
                """,
            valueName: "file"
        )
    )
    var config: String?

    /// Reads the configuration and the files it names.
    ///
    /// - Parameters:
    ///   - checksFiles: whether the files that it names are looked at.
    ///   - isService: whether this process is the service, which systemd told where its directories
    ///     are. Every other command looks for them where the unit has them.
    /// - Returns: the configuration.
    /// - Throws: exit status 78, after every error was printed on standard error.
    func load(checksFiles: Bool = true, isService: Bool = false) throws -> ProxyConfiguration {
        let file = ConfigurationFile(path: config, isService: isService)
        switch file.read(checksFiles: checksFiles) {
        case .success(let configuration): return configuration
        case .failure(let errors):
            for error in errors.errors { StandardError.write("\(error)") }
            throw ExitStatus.configuration
        }
    }
}

/// The configuration on disk.
struct ConfigurationFile: Sendable {
    private let environment: [String: String]
    private let path: String
    private let isNamed: Bool

    init(path: String?, isService: Bool) {
        let environment = ProcessInfo.processInfo.environment
        isNamed = path != nil || environment["NETPROXY_CONFIG"]?.isEmpty == false
        let path = ConfigurationLocator.path(explicit: path, environment: environment)
        self.environment =
            isService
            ? environment
            : ConfigurationLocator.serviceEnvironment(environment, configuration: path)
        self.path = path
    }

    /// Reads and checks it, with the files it names.
    func read(checksFiles: Bool = true) -> Result<ProxyConfiguration, ConfigurationErrors> {
        let text: String
        do {
            text = try String(contentsOfFile: path, encoding: .utf8)
        } catch {
            return .failure(
                .unreadable(
                    path,
                    missing: isNamed || path != ConfigurationLocator.system
                        ? nil : ConfigurationLocator.personal(environment)
                )
            )
        }
        return ConfigurationLoader.load(
            text: text,
            file: path,
            environment: environment,
            resolver: checksFiles ? SecretResolver(environment: environment) : nil
        )
    }
}
