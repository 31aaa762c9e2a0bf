package import NetproxyConfig
import NetproxyPath

/// Warns of settings that let clients or web pages learn or use a credential.
package enum ExposedCredentials {
    /// Checks `scrub` and `access.hosts`.
    ///
    /// - Parameter configuration: the configuration.
    /// - Returns: a sentence for each kind of setting.
    package static func warnings(in configuration: ProxyConfiguration) -> [String] {
        let unsearched = configuration.channels.filter {
            $0.placement?.isInTarget == true && $0.scrub != .content
        }
        let rebindable = configuration.channels.filter {
            $0.hasCredential && $0.access.hosts.contains("*")
        }
        return [
            warning(of: unsearched) { names in
                "the content of responses is not searched for the credential of \(names), which is part of "
                    + "the URL: an API that repeats the URL shows it to the client; remove scrub"
            },
            warning(of: rebindable) { names in
                "access.hosts: [\"*\"] lets web pages reach the credential of \(names) by DNS rebinding; "
                    + "list the names by which clients call netproxy"
            },
        ].compactMap { $0 }
    }

    private static func warning(
        of channels: [ChannelConfiguration],
        _ text: (_ names: String) -> String
    ) -> String? {
        channels.isEmpty ? nil : text(channels.map(\.name).joined(separator: ", "))
    }
}
