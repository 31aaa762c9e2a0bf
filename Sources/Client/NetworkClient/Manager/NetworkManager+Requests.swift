public import FoundationEssentials

/// Calls with a request of the program's own, such as one for a full URL, with all the channel does for
/// endpoints.
///
///     let page = try await manager.request(Request(url: page.next), as: Page.self)
///
/// If the channel has a `host`, requests to other hosts are refused, and its own carry the credential. If it
/// has none, a URL may lead anywhere: only a call whose `authorization` says so carries it.
extension NetworkManager {
    /// Sends a request and gives back the whole response.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - authorization: whether it carries the credential; `nil` decides as the options say.
    ///   - options: the call's differences from its channel.
    /// - Returns: the whole response.
    /// - Throws: `NetworkError`.
    public func perform(
        _ request: Request,
        authorization: AuthorizationRequirement? = nil,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> WholeResponse {
        try await pipeline.whole(pipeline.call(request, authorization, options)).0
    }

    /// Sends a request and decodes the content of its response.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - type: the type to decode.
    ///   - options: the call's differences from its channel.
    /// - Returns: the decoded value.
    /// - Throws: `NetworkError`; `unacceptable_response` and `undecodable_response` keep the
    ///   response.
    public func request<Value: Decodable & Sendable>(
        _ request: Request,
        as type: Value.Type = Value.self,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> Value {
        try await pipeline.value(pipeline.call(request, nil, options), as: type)
    }

    /// Sends a request and gives back the content of its response.
    ///
    /// - Throws: `NetworkError`.
    public func data(
        for request: Request,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> Data {
        try await perform(request, options: options).data
    }

    /// Sends a request with content and gives back the whole response; `options.progress` hears how far
    /// it is.
    ///
    /// - Parameters:
    ///   - request: the request; its method is the program's choice, such as PUT for a signed URL.
    ///   - content: the content that replaces its body; the type is set unless the request has one.
    ///   - options: the call's differences from its channel.
    /// - Returns: the whole response.
    /// - Throws: `NetworkError`.
    public func upload(
        _ request: Request,
        _ content: HTTPTask,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> WholeResponse {
        let filled = try RequestBuilder(BaseURL(request.origin)).encoding(as: channel)
            .method(request.method).headers(request.headers).task(content).build()
        guard filled.target == "/" else {
            throw .unsendable("the content goes into the query, and the request has its own")
        }
        var request = request
        (request.headers, request.body) = (filled.headers, filled.body)
        return try await perform(request, options: options)
    }

    /// Sends a request and gives back its response as it arrives; the timeout ends with the head.
    ///
    /// - Throws: `NetworkError`, here for everything up to the head, later from the sequences.
    public func stream(
        _ request: Request,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> ResponseStream {
        try await pipeline.stream(pipeline.call(request, nil, options))
    }

    /// Downloads content into a file, as `download(_:to:resuming:options:)` for an endpoint does.
    ///
    /// - Parameters:
    ///   - request: the request; all of its content is asked for, so it must not set `Range`.
    ///   - path: where the file goes; one that is there is replaced, anything but a file refused.
    ///   - resumePoint: where an earlier download broke off.
    ///   - options: the call's differences from its channel; the timeout is for each head.
    /// - Returns: the downloaded file.
    /// - Throws: `NetworkError`; `http_request_error` when the file cannot be written.
    public func download(
        _ request: Request,
        to path: String,
        resuming resumePoint: ResumePoint? = nil,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> DownloadedFile {
        try await pipeline.download(
            pipeline.call(request, nil, options),
            to: path,
            resuming: resumePoint
        )
    }

    /// The server-sent events of a URL, which go on when their connection ends.
    ///
    /// - Parameters:
    ///   - request: the request; its content must be one that can be sent again.
    ///   - reconnection: when to connect again, and where an earlier feed ended.
    ///   - options: the differences of each request from its channel; the timeout is for each head.
    /// - Returns: the events, as an asynchronous sequence that throws `NetworkError`.
    public func events(
        _ request: Request,
        reconnecting reconnection: EventReconnection = EventReconnection(),
        options: CallOptions = CallOptions()
    ) -> EventFeed<Item> {
        EventFeed(pipeline, reconnection, options) { [pipeline] in
            pipeline.call(request, nil, options)
        }
    }

    /// Sends a request that was composed, with all the channel does for endpoints.
    ///
    /// - Parameters:
    ///   - builder: the request; its timeout holds where the options name none, and so does what its
    ///     endpoint says, if it has one.
    ///   - authorization: whether the request carries the credential; `nil` decides as the
    ///     options or its endpoint say, and `optional` without one.
    ///   - options: the call's differences from its channel.
    /// - Returns: the whole response.
    /// - Throws: `NetworkError`.
    public func perform(
        _ builder: RequestBuilder,
        authorization: AuthorizationRequirement? = nil,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> WholeResponse {
        var options = options
        if options.timeout == nil { options.timeout = builder.timeout }
        if options.validation == nil { options.validation = builder.validation }
        if options.decoder == nil { options.decoder = builder.decoder }
        return try await perform(
            try builder.encoding(as: channel).build(),
            authorization: authorization ?? options.authorization ?? builder.authorization
                ?? .optional,
            options: options
        )
    }
}
