/// A networker whose channel is fixed when it is made: subclass it once for each channel, and that
/// class once for each feature which has more to say.
///
///     class ShopNetworker<Item: Endpoint>: ChannelNetworker<Item> {
///         init(_ transport: any HTTPTransport) {
///             super.init(
///                 transport: transport,
///                 host: "api.shop.example",
///                 logger: SwiftLogNetworkLogger(subsystem: "com.example.shop", category: "network")
///             )
///         }
///     }
///
///     final class OrderNetworker: ShopNetworker<OrderEndpoint> {
///         func orders() async throws -> [Order] { try await request(.list) }
///     }
///
/// Not `Sendable`: it belongs to the actor or task that made it. What can be shared is its
/// `networkManager`, or another networker over the same channel.
open class ChannelNetworker<Item: Endpoint>: Networker {
    /// The channel, shared by every networker created with it.
    public let channel: NetworkChannel
    /// Makes the feature's requests; a test may put in another.
    public var networkManager: NetworkManager<Item>

    /// Makes the networker of a feature over a channel that others share.
    public init(_ channel: NetworkChannel) {
        self.channel = channel
        networkManager = NetworkManager(channel)
    }

    /// Fixes host, logger and interceptors of a channel.
    ///
    /// - Parameters:
    ///   - transport: sends attempts; give the same one to all networkers of a channel, so that they
    ///     share its connections.
    ///   - host: the only host that requests may go to, as `host` or `host:port`.
    ///   - authorizer: knows the credential.
    ///   - interceptors: of every call, outermost first.
    ///   - logger: records the events of calls.
    public init(
        transport: any HTTPTransport,
        host: String,
        authorizer: (any Authorizing)? = nil,
        interceptors: [any RequestInterceptor] = [],
        logger: any NetworkLogger
    ) {
        channel = NetworkChannel(
            transport: transport,
            host: host,
            authorizer: authorizer,
            interceptors: interceptors,
            logger: logger
        )
        networkManager = NetworkManager(channel)
    }
}
