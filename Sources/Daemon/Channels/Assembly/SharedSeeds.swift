import NetproxyConfig
import NetworkCore

/// Refresh tokens that several credentials start with.
///
/// A server that rotates refresh tokens treats the second use as theft and ends both sessions; see RFC 9700
/// §4.14.2.
enum SharedSeeds {
    /// Returns a warning for each pair, unless both existed before.
    static func warnings(
        among channels: [ChannelRecord],
        besides present: [ChannelRecord]
    ) -> [String] {
        let known = seeds(present)
        let all = seeds(channels).sorted { $0.key.description < $1.key.description }
        var owners: [String: CredentialConfiguration.Owner] = [:]
        return all.compactMap { one in
            let seed = one.value.reveal()
            guard let other = owners[seed] else {
                owners[seed] = one.key
                return nil
            }
            guard known[one.key] != one.value || known[other] != one.value else { return nil }
            return
                "\(other) and \(one.key): the same refresh_token; a server that rotates it ends both "
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
    /// The configured refresh token that the credential starts with.
    fileprivate var seed: Secret? {
        guard let settings = credential.oauth, settings.grant == .refreshToken,
            let reference = settings.refreshToken
        else { return nil }
        return inputs.secrets[reference]
    }
}
