public import FoundationEssentials

/// Sends the requests of one API over one channel; features need no other type.
///
/// It is `Sendable` and stateless, and can be called from any executor. Every method throws only
/// `NetworkError`,
/// is canceled with its task, and never traps on invalid input.
public final class NetworkManager<Item: Endpoint>: Sendable {
    /// The common settings of the calls.
    public let channel: NetworkChannel
    let pipeline: CallPipeline<Item>

    /// Creates a manager for a channel.
    public init(_ channel: NetworkChannel) {
        self.channel = channel
        pipeline = CallPipeline(channel, .ofChannel)
    }

    /// Creates a manager that selects a transport per endpoint, for example a stub.
    ///
    /// - Parameters:
    ///   - channel: the common settings of the calls.
    ///   - transport: returns the transport of an endpoint; `nil` selects the channel's.
    public init(
        _ channel: NetworkChannel,
        transportFor transport: @escaping @Sendable (Item) -> (any HTTPTransport)?
    ) {
        self.channel = channel
        pipeline = CallPipeline(channel, .by(transport))
    }

    /// Sends a request and decodes the content of its response.
    ///
    /// - Throws: `NetworkError`; `unacceptable_response` and `undecodable_response` contain the response.
    public func request<Value: Decodable & Sendable>(
        _ endpoint: Item,
        as type: Value.Type = Value.self,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> Value {
        try await pipeline.value(endpoint, as: type, options)
    }

    // Without this overload, the compiler has no useful message for a call without a type.
    /// Reports a call without a type to decode.
    @available(
        *,
        unavailable,
        message: "say what to decode: request(_:as:), or send(_:) if the content is not needed"
    )
    public func request(
        _ endpoint: Item,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) {}

    /// Sends a request and waits for its response, which it discards.
    ///
    /// - Throws: `NetworkError`.
    public func send(
        _ endpoint: Item,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) {
        _ = try await response(for: endpoint, options: options)
    }

    /// Sends a request and returns the whole response.
    ///
    /// - Throws: `NetworkError`, also for an unsuccessful response, unless the rule is `SuccessRule.any`.
    public func response(
        for endpoint: Item,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> WholeResponse {
        try await pipeline.whole(try pipeline.call(endpoint, options)).0
    }

    /// Sends a request and returns the content of its response.
    ///
    /// - Throws: `NetworkError`.
    public func data(
        for endpoint: Item,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> Data {
        try await response(for: endpoint, options: options).data
    }

    /// Sends the endpoint's content or its replacement, and returns the whole response.
    ///
    /// `options.progress` receives the progress.
    ///
    /// - Throws: `NetworkError`.
    public func upload(
        _ endpoint: Item,
        _ content: HTTPTask? = nil,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> WholeResponse {
        try await pipeline.whole(try pipeline.call(endpoint, options, task: content)).0
    }

    /// Sends a request and returns its response as it arrives; the timeout applies to the head.
    ///
    /// - Throws: `NetworkError` for errors up to the head; the sequences throw later ones.
    public func stream(
        _ endpoint: Item,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> ResponseStream {
        try await pipeline.stream(try pipeline.call(endpoint, options))
    }

}
