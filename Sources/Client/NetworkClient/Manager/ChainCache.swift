import Synchronization

/// The chains of a channel, made once for each origin; shared by all calls.
final class ChainCache: Sendable {
    /// An API has one origin or a few; a program that asks the whole world gets new chains each time.
    private static let limit = 64

    private struct Key: Hashable {
        let origin: Origin
        let isSigned: Bool
    }

    private let chains = Mutex<[Key: RequestChain]>([:])

    /// The chain to an origin.
    func chain(to origin: Origin, isSigned: Bool, of channel: NetworkChannel) -> RequestChain {
        let key = Key(origin: origin, isSigned: isSigned)
        return chains.withLock { chains in
            if let chain = chains[key] { return chain }
            let chain = channel.chain(
                to: origin,
                isSigned: isSigned,
                extra: [],
                transport: channel.transport
            )
            if chains.count < ChainCache.limit { chains[key] = chain }
            return chain
        }
    }
}
