import FoundationEssentials

/// Finds the configuration file.
package enum ConfigurationLocator {
    /// The file to read: `--config`, `$NETPROXY_CONFIG`, the user's, and else the system's.
    ///
    /// - Parameters:
    ///   - explicit: the value of `--config`.
    ///   - environment: the variables to look at.
    ///   - exists: whether there is a file at a path.
    /// - Returns: what a person named is taken as it is, even if no such file exists.
    package static func path(
        explicit: String?,
        environment: [String: String],
        exists: (String) -> Bool = { FileManager.default.fileExists(atPath: $0) }
    ) -> String {
        if let explicit { return explicit }
        if let named = environment["NETPROXY_CONFIG"], !named.isEmpty { return named }
        if let personal = personal(environment), exists(personal) { return personal }
        return system
    }

    /// Where the system's configuration is.
    package static let system = "/etc/netproxy/netproxy.yaml"

    /// The environment in which the system's service reads its configuration, for the commands that
    /// look for that service: the directories that its unit asks systemd for.
    ///
    /// - Parameters:
    ///   - environment: what the command was started with; a variable that is there stays.
    ///   - path: the configuration; any but the system's belongs to no unit.
    ///   - exists: whether there is a directory at a path: systemd makes them when the unit starts.
    /// - Returns: the environment with what it lacks.
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

    /// What systemd/netproxy.service names, with the variables of systemd.exec(5).
    private static let unitDirectories = [
        ("STATE_DIRECTORY", "/var/lib/netproxy"), ("LOGS_DIRECTORY", "/var/log/netproxy"),
        ("RUNTIME_DIRECTORY", "/run/netproxy"),
        // Where systemd puts what LoadCredential= names, for the unit's user and while the unit runs.
        ("CREDENTIALS_DIRECTORY", "/run/credentials/netproxy.service"),
    ]

    /// Where the user's own configuration is, or would be.
    package static func personal(_ environment: [String: String]) -> String? {
        let home = DefaultDirectories.absolute(environment["HOME"])
        let base =
            DefaultDirectories.absolute(environment["XDG_CONFIG_HOME"])
            ?? home.map { "\($0)/.config" }
        return base.map { "\($0)/netproxy/netproxy.yaml" }
    }
}
