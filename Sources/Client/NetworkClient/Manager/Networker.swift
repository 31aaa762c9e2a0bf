/// The networker of a channel, through which features share its connections, credential, logger and
/// interceptors.
///
/// `ChannelNetworker` is enough for most programs, directly or with a subclass for each channel. Conform your
/// own
/// type if that reads better.
public protocol Networker {
    /// The operations of a feature.
    associatedtype Item: Endpoint
    /// The manager that sends the feature's requests; a test can replace it.
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

    /// Calls `request(_:as:options:)`, for callers without async/await.
    ///
    /// - Parameters:
    ///   - endpoint: the operation.
    ///   - type: the type to decode.
    ///   - options: the settings of the call that differ from its channel.
    ///   - completion: the handler for the outcome, called once, but not if the manager no longer exists.
    /// - Returns: a handle to cancel the call.
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
