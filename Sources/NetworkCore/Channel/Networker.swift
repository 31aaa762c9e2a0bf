/// The networker of a channel: features hold one of these, and share its connections, credential,
/// logger and interceptors.
///
/// The generic `ChannelNetworker` is enough for most; conform a type of your own where a channel has
/// more to say.
public protocol Networker: Sendable {
    /// The operations of a feature.
    associatedtype Item: Endpoint
    /// Makes the feature's requests.
    var networkManager: NetworkManager<Item> { get }
}

extension Networker {
    /// Sends a request and decodes the content of its response.
    ///
    /// - Throws: `NetworkError`.
    public func request<Value: Decodable & Sendable>(
        _ endpoint: Item,
        as type: Value.Type = Value.self,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> Value {
        try await networkManager.request(endpoint, as: type, options: options)
    }
}

/// One feature's view of a channel.
public struct ChannelNetworker<Item: Endpoint>: Networker {
    /// Makes the feature's requests; a test may put in another.
    public var networkManager: NetworkManager<Item>

    /// Makes the networker of a feature over a channel that others share.
    public init(_ channel: NetworkChannel) {
        networkManager = NetworkManager(channel)
    }
}
