import NetproxyConfig
import NetworkCore

/// Refresh tokens with which several credentials begin: a server that rotates one takes the second use for
/// theft and ends both sessions (RFC 9700 §4.14.2).
enum SharedSeeds {
    /// Returns a warning for each pair, unless both were there before.
    static func warnings(
        among channels: [ChannelRecord],
        besides present: [ChannelRecord]
    ) -> [String] {
        let known = seeds(present)
        let all = seeds(channels).sorted { $0.key.description < $1.key.description }
        return all.enumerated().compactMap { index, one in
            guard let other = all[..<index].first(where: { $0.value == one.value }),
                known[one.key] != one.value || known[other.key] != other.value
            else { return nil }
            return
                "\(other.key) and \(one.key): the same refresh_token; a server that rotates it ends both "
                + "sessions: make it an identity, or give each its own"
        }
    }

    private static func seeds(
        _ channels: [ChannelRecord]
    ) -> [CredentialConfiguration.Owner: Secret] {
        channels.flatMap(\.accounts).reduce(into: [:]) { $0[$1.credential.owner] = $1.seed }
    }
}

extension ChannelAccount {
    /// The configured refresh token with which it begins.
    fileprivate var seed: Secret? {
        guard let settings = credential.oauth, settings.grant == .refreshToken,
            let reference = settings.refreshToken
        else { return nil }
        return inputs.secrets[reference]
    }
}
