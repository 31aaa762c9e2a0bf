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
    /// - Throws: exit status 78, after every error was printed on standard error.
    func load(checksFiles: Bool = true) throws -> ProxyConfiguration {
        switch ConfigurationFile(path: config).read(checksFiles: checksFiles) {
        case .success(let configuration): return configuration
        case .failure(let errors):
            for error in errors.errors { StandardError.write("\(error)") }
            throw ExitStatus.configuration
        }
    }
}

/// The configuration on disk.
struct ConfigurationFile: Sendable {
    private let environment = ProcessInfo.processInfo.environment
    private let path: String
    private let isNamed: Bool

    init(path: String?) {
        isNamed = path != nil || environment["NETPROXY_CONFIG"]?.isEmpty == false
        self.path = ConfigurationLocator.path(
            explicit: path,
            environment: ProcessInfo.processInfo.environment
        )
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
        return ConfigurationLoader.load(text: text, file: path, environment: environment)
            .flatMap { configuration in
                guard checksFiles else { return .success(configuration) }
                let errors = ConfigurationChecker.check(
                    configuration,
                    file: path,
                    resolver: SecretResolver(environment: environment)
                )
                return errors.isEmpty
                    ? .success(configuration) : .failure(ConfigurationErrors(errors))
            }
    }
}
