package import NetproxyConfig
import NetworkCore

/// A proxy that the environment names for other programs, and that netproxy does not use: only the key `proxy`
/// counts.
package enum IgnoredProxy {
    private static let variables = ["http_proxy", "https_proxy", "all_proxy"]

    /// Returns the name of the variable that would apply to a channel without `proxy`; `nil` if none would.
    package static func variable(
        for channel: ChannelConfiguration,
        in environment: [String: String]
    ) -> String? {
        guard channel.proxy == nil, channel.stub == nil,
            let origin = channel.upstreams.first(where: { !$0.origin.isLoopback })?.origin
        else { return nil }
        let names = ["\(origin.scheme)_proxy", "all_proxy"].filter(variables.contains)
        return names.flatMap { [$0, $0.uppercased()] }
            .first { environment[$0]?.isEmpty == false }
    }

    /// Returns a note for `check` and the start; `nil` if no channel would use the proxy.
    package static func note(
        on configuration: ProxyConfiguration,
        in environment: [String: String]
    ) -> String? {
        let found = configuration.channels.compactMap { channel in
            variable(for: channel, in: environment).map { (channel.name, $0) }
        }
        guard let first = found.first else { return nil }
        let names = found.map(\.0).joined(separator: ", ")
        return "\(words(for: first.1)) (channels without it: \(names))"
    }

    /// A clause that names the variable and the remedy.
    private static func words(for variable: String) -> String {
        "the environment has \(variable), which netproxy does not use; to go through that proxy, set proxy in "
            + "the channel or in defaults"
    }

    /// Names the variable in the error of an attempt that did not reach the upstream.
    static func explain(_ error: NetworkError, _ variable: String?) -> NetworkError {
        guard let variable else { return error }
        switch error.kind {
        case .dnsError, .dnsTimeout, .destinationUnavailable, .connectionRefused,
            .connectionTimeout:
            var error = error
            error.detail += "; \(words(for: variable))"
            return error
        default: return error
        }
    }
}
