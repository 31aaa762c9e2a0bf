public import FoundationEssentials

/// Makes the requests of one API over one channel: the only thing a feature needs to call.
///
/// `Sendable` and stateless; callers are on any executor. Every method throws
/// `NetworkError` and nothing else, is cancelled with its task, and traps on no input.
public final class NetworkManager<Item: Endpoint>: Sendable {
    /// The common settings of the calls.
    public let channel: NetworkChannel
    let pipeline: CallPipeline<Item>

    /// Makes a manager for a channel.
    public init(_ channel: NetworkChannel) {
        self.channel = channel
        pipeline = CallPipeline(channel, .ofChannel)
    }

    /// Makes a manager whose endpoints choose their transport, such as stubs.
    ///
    /// - Parameters:
    ///   - channel: the common settings of the calls.
    ///   - transport: the transport of an endpoint; `nil` means the channel's.
    public init(
        _ channel: NetworkChannel,
        transportFor transport: @escaping @Sendable (Item) -> (any HTTPTransport)?
    ) {
        self.channel = channel
        pipeline = CallPipeline(channel, .by(transport))
    }

    /// Sends a request and decodes the content of its response.
    ///
    /// - Throws: `NetworkError`; `unacceptable_response` and `undecodable_response` keep the
    ///   response.
    public func request<Value: Decodable & Sendable>(
        _ endpoint: Item,
        as type: Value.Type = Value.self,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> Value {
        try await pipeline.value(endpoint, as: type, options)
    }

    // Without it the compiler has no words for a call that leaves the type open.
    /// A call without a type to decode.
    @available(
        *,
        unavailable,
        message: "say what to decode: request(_:as:), or send(_:) if the content is not needed"
    )
    public func request(
        _ endpoint: Item,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) {}

    /// Sends a request and waits for its response, without its content.
    ///
    /// - Throws: `NetworkError`.
    public func send(
        _ endpoint: Item,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) {
        _ = try await response(for: endpoint, options: options)
    }

    /// Sends a request and gives back the whole response.
    ///
    /// - Throws: `NetworkError`; a response that is no success is thrown, too, unless the rule is
    ///   `SuccessRule.any`.
    public func response(
        for endpoint: Item,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> WholeResponse {
        try await pipeline.whole(try pipeline.call(endpoint, options)).0
    }

    /// Sends a request and gives back the content of its response.
    ///
    /// - Throws: `NetworkError`.
    public func data(
        for endpoint: Item,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> Data {
        try await response(for: endpoint, options: options).data
    }

    /// Sends the endpoint's content, or another in its place, and gives back the whole response;
    /// `options.progress` hears how far it is.
    ///
    /// - Throws: `NetworkError`.
    public func upload(
        _ endpoint: Item,
        _ content: HTTPTask? = nil,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> WholeResponse {
        try await pipeline.whole(try pipeline.call(endpoint, options, task: content)).0
    }

    /// Sends a request and gives back its response as it arrives; the timeout ends with the head.
    ///
    /// - Throws: `NetworkError`, here for everything up to the head, later from the sequences.
    public func stream(
        _ endpoint: Item,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> ResponseStream {
        try await pipeline.stream(try pipeline.call(endpoint, options))
    }

}
