public import FoundationEssentials

/// Calls with a request of the program, such as one for a complete URL; the channel's settings apply.
///
///     let page = try await manager.request(Request(url: page.next), as: Page.self)
///
/// If the channel has a `host`, requests to other hosts are refused, and those to the host carry the
/// credential.
/// If it has none, a URL may lead anywhere, so a call carries the credential only if its `authorization` says
/// so.
extension NetworkManager {
    /// Sends a request and returns the whole response.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - authorization: the use of the credential; `nil` selects the setting in the options.
    ///   - options: the settings of the call that differ from its channel.
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
    ///   - options: the settings of the call that differ from its channel.
    /// - Returns: the decoded value.
    /// - Throws: `NetworkError`; `unacceptable_response` and `undecodable_response` contain the response.
    public func request<Value: Decodable & Sendable>(
        _ request: Request,
        as type: Value.Type = Value.self,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> Value {
        try await pipeline.value(pipeline.call(request, nil, options), as: type)
    }

    /// Sends a request and returns the content of its response.
    ///
    /// - Throws: `NetworkError`.
    public func data(
        for request: Request,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> Data {
        try await perform(request, options: options).data
    }

    /// Sends a request with content and returns the whole response; `options.progress` receives the progress.
    ///
    /// - Parameters:
    ///   - request: the request, with the method of the program's choice, such as PUT for a signed URL.
    ///   - content: the content that replaces its body; the type is set unless the request has one.
    ///   - options: the settings of the call that differ from its channel.
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

    /// Sends a request and returns its response as it arrives; the timeout applies to the head.
    ///
    /// - Throws: `NetworkError` for errors up to the head; the sequences throw later ones.
    public func stream(
        _ request: Request,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> ResponseStream {
        try await pipeline.stream(pipeline.call(request, nil, options))
    }

    /// Downloads content into a file, like `download(_:to:resuming:options:)` for an endpoint.
    ///
    /// - Parameters:
    ///   - request: the request, which must not set `Range`, because the whole content is requested.
    ///   - path: the path of the file; an existing regular file is replaced, anything else is refused.
    ///   - resumePoint: the resume point of an earlier download.
    ///   - options: the settings of the call that differ from its channel; the timeout applies to each head.
    /// - Returns: the downloaded file.
    /// - Throws: `NetworkError`; `http_request_error` if the file cannot be written.
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

    /// Returns the server-sent events of a URL, and reconnects when a connection ends.
    ///
    /// - Parameters:
    ///   - request: the request; its content must be repeatable.
    ///   - reconnection: the rules for reconnections, and the last event of an earlier feed.
    ///   - options: the settings of each request that differ from its channel; the timeout applies to each
    ///     head.
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

    /// Sends a composed request; the channel's settings apply.
    ///
    /// - Parameters:
    ///   - builder: the request; its timeout and the settings of its endpoint apply unless the options
    ///     override them.
    ///   - authorization: the use of the credential; `nil` selects the setting of the options or the
    ///     endpoint, and
    ///     `optional` if there is none.
    ///   - options: the settings of the call that differ from its channel.
    /// - Returns: the whole response.
    /// - Throws: `NetworkError`.
    public func perform(
        _ builder: RequestBuilder,
        authorization: AuthorizationRequirement? = nil,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> WholeResponse {
        var options = options
        if options.timeout == nil { options.timeout = builder.timeout }
        if options.stallTimeout == nil { options.stallTimeout = builder.stallTimeout }
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
