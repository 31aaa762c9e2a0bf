/// A networker with a fixed channel.
///
/// Subclass it once for each channel, and subclass that class for each feature with methods of its own:
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
/// It is not `Sendable`: it belongs to the actor or task that created it. To share it, share its
/// `networkManager`, or create another networker over the same channel.
open class ChannelNetworker<Item: Endpoint>: Networker {
    /// The channel, shared by every networker created with it.
    public let channel: NetworkChannel
    /// The manager that sends the feature's requests; a test can replace it.
    public var networkManager: NetworkManager<Item>

    /// Creates the networker of a feature over a shared channel.
    public init(_ channel: NetworkChannel) {
        self.channel = channel
        networkManager = NetworkManager(channel)
    }

    /// Creates a networker with a channel of its own.
    ///
    /// - Parameters:
    ///   - transport: the transport that sends attempts; pass the same one to all networkers of a channel, so
    ///     that
    ///     they share its connections.
    ///   - host: the only allowed host of requests, as `host` or `host:port`.
    ///   - authorizer: the source of the credential.
    ///   - interceptors: the interceptors of every call, outermost first.
    ///   - logger: the logger for the events of calls.
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
