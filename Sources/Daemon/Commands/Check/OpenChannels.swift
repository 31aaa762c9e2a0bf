package import NetproxyConfig
import NetproxyPath

/// Warns of channels whose credential every user of the machine can use.
///
/// A TCP port has no owner: anyone who can connect to it can send requests with the credential. On a
/// single-user machine this is intended, so it is not an error.
package enum OpenChannels {
    /// Checks the listeners and `access`.
    ///
    /// - Parameter configuration: the configuration, with its file.
    /// - Returns: a sentence, or `nil` if there is no such channel.
    package static func warning(in configuration: ProxyConfiguration) -> String? {
        let shared = configuration.listen.first(where: isOpen)
        let open = configuration.channels.filter { channel in
            guard channel.hasCredential, channel.access.key == nil, channel.access.users.isEmpty
            else { return false }
            return shared != nil || channel.match.listen.map(isOpen) == true
        }
        guard let first = open.first else { return nil }
        let names = open.map(\.name).joined(separator: ", ")
        let place = shared ?? first.match.listen
        let address = place.map { " through \($0)" } ?? ""
        return "every user of this machine can use the credential of \(names)\(address); to keep "
            + "others out, set access.key, or listen on a unix socket and set access.users"
    }

    /// Whether every user can connect to an address; a socket passed by systemd can be of any kind.
    private static func isOpen(_ address: ListenAddress) -> Bool {
        if case .tcp = address { return true }
        return false
    }
}
