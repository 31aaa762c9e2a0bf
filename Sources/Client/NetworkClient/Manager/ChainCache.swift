import Synchronization

/// The chains of a channel, one per origin, shared by all calls.
final class ChainCache: Sendable {
    /// The maximum number of chains; for more origins, each call gets a new chain.
    private static let limit = 64

    private struct Key: Hashable {
        let origin: Origin
        let signing: CallSigning
    }

    private let chains = Mutex<[Key: RequestChain]>([:])

    /// Returns the chain to an origin.
    func chain(
        to origin: Origin,
        _ signing: CallSigning,
        of channel: NetworkChannel
    ) -> RequestChain {
        let key = Key(origin: origin, signing: signing)
        return chains.withLock { chains in
            if let chain = chains[key] { return chain }
            let chain = channel.chain(
                to: origin,
                signing,
                extra: [],
                transport: channel.transport
            )
            if chains.count < ChainCache.limit { chains[key] = chain }
            return chain
        }
    }
}
