import FoundationEssentials

/// Finds the configuration file.
package enum ConfigurationLocator {
    /// Returns the file to read: `--config`, `$NETPROXY_CONFIG`, the user's file, that of a running demo, or
    /// the system's.
    ///
    /// - Parameters:
    ///   - explicit: the value of `--config`.
    ///   - environment: the environment variables.
    ///   - demo: the configuration of a running demo of this user.
    ///   - exists: whether there is a file at a path.
    /// - Returns: the path; an explicit path is returned even if no such file exists.
    package static func path(
        explicit: String?,
        environment: [String: String],
        demo: () -> String? = { nil },
        exists: (String) -> Bool = { FileManager.default.fileExists(atPath: $0) }
    ) -> String {
        if let explicit { return explicit }
        if let named = environment["NETPROXY_CONFIG"], !named.isEmpty { return named }
        if let personal = personal(environment), exists(personal) { return personal }
        return demo() ?? system
    }

    /// The path of the system's configuration.
    package static let system = "/etc/netproxy/netproxy.yaml"

    /// Returns the environment of the system's service, for commands that contact it: with the directories
    /// that systemd creates for its unit.
    ///
    /// - Parameters:
    ///   - environment: the command's environment; its variables take precedence.
    ///   - path: the configuration; only the system's belongs to the service.
    ///   - exists: whether there is a directory at a path; systemd creates them when the unit starts.
    /// - Returns: the environment with the variables added.
    package static func serviceEnvironment(
        _ environment: [String: String],
        configuration path: String,
        exists: (String) -> Bool = { FileManager.default.fileExists(atPath: $0) }
    ) -> [String: String] {
        guard path == system else { return environment }
        var environment = environment
        for (name, directory) in unitDirectories
        where environment[name] == nil && exists(directory) {
            environment[name] = directory
        }
        return environment
    }

    /// The default paths of the admin socket and the logs of the system's service.
    package static let service = (socket: "/run/netproxy/admin.sock", logs: "/var/log/netproxy")

    /// The directories in systemd/netproxy.service, by their variables (systemd.exec(5)).
    private static let unitDirectories = [
        ("STATE_DIRECTORY", "/var/lib/netproxy"), ("LOGS_DIRECTORY", "/var/log/netproxy"),
        ("RUNTIME_DIRECTORY", "/run/netproxy"),
        // The credentials of LoadCredential=, readable by the unit's user while the unit runs.
        ("CREDENTIALS_DIRECTORY", "/run/credentials/netproxy.service"),
    ]

    /// The path of the user's own configuration, whether or not it exists.
    package static func personal(_ environment: [String: String]) -> String? {
        let home = DefaultDirectories.absolute(environment["HOME"])
        let base =
            DefaultDirectories.absolute(environment["XDG_CONFIG_HOME"])
            ?? home.map { "\($0)/.config" }
        return base.map { "\($0)/netproxy/netproxy.yaml" }
    }
}
