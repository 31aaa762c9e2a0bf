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

    /// Where the user's own configuration is, or would be.
    package static func personal(_ environment: [String: String]) -> String? {
        let home = DefaultDirectories.absolute(environment["HOME"])
        let base =
            DefaultDirectories.absolute(environment["XDG_CONFIG_HOME"])
            ?? home.map { "\($0)/.config" }
        return base.map { "\($0)/netproxy/netproxy.yaml" }
    }
}
