/// The networker of a channel: features hold one of these, and share its connections, credential,
/// logger and interceptors.
///
/// `ChannelNetworker` is enough for most, as it is or with a subclass for each channel; conform a type
/// of your own where that reads better.
public protocol Networker {
    /// The operations of a feature.
    associatedtype Item: Endpoint
    /// Makes the feature's requests; a test puts in another.
    var networkManager: NetworkManager<Item> { get set }
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

    /// As `request(_:as:options:)`, for callers without async/await.
    ///
    /// - Parameters:
    ///   - endpoint: the operation.
    ///   - type: the type to decode.
    ///   - options: the call's differences from its channel.
    ///   - completion: gets the outcome, once; dropped if the manager is gone by then.
    /// - Returns: a handle to cancel the call with.
    @discardableResult
    public func request<Value: Decodable & Sendable>(
        _ endpoint: Item,
        as type: Value.Type = Value.self,
        options: CallOptions = CallOptions(),
        @_inheritActorContext completion: @escaping NetworkManager<Item>.Completion<Value>
    ) -> CallHandle {
        networkManager.request(endpoint, as: type, options: options, completion: completion)
    }
}
