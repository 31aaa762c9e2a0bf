import NetworkCore

/// The channels in force, indexed: the work for each assembled channel does not depend on their number.
struct PresentChannels {
    /// The values read for the channels, in their order.
    let inputs: [ChannelInputs]
    private let served: [String: ChannelRecord]
    /// The credentials that channels can share, by identity.
    private var accounts: [String: [ChannelAccount]] = [:]

    init(_ channels: [ChannelRecord]) {
        inputs = channels.map(\.inputs)
        // A channel that refuses its requests has nothing to keep.
        served = Dictionary(
            channels.lazy.filter { $0.outage == nil }.map { ($0.name, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        for account in channels.lazy.flatMap(\.accounts) { add(account) }
    }

    /// Returns the channel with a name that serves its requests.
    subscript(name: String) -> ChannelRecord? { served[name] }

    /// Returns the credentials of an identity.
    func accounts(of identity: String?) -> [ChannelAccount] {
        identity.flatMap { accounts[$0] } ?? []
    }

    /// Adds a credential that later channels can share, if it is an identity's.
    mutating func add(_ account: ChannelAccount) {
        guard let identity = account.identity else { return }
        accounts[identity, default: []].append(account)
    }
}
