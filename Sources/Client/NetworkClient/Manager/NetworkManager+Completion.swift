public import FoundationEssentials

/// A call with a completion handler.
public struct CallHandle: Sendable {
    private let task: Task<Void, Never>

    init(_ task: Task<Void, Never>) {
        self.task = task
    }

    /// Cancels the call; its completion handler gets `cancelled`, unless it has already been called.
    public func cancel() { task.cancel() }

    /// Waits until the completion handler has returned.
    public func finished() async { await task.value }
}

/// Calls with a completion handler, for callers without async/await.
///
/// The handler is called once, on the actor of the code that contains it: in a method of a `@MainActor`
/// class, on
/// the main actor; elsewhere, on no particular thread. It is not called if the manager no longer exists.
extension NetworkManager {
    /// The handler for the outcome of a call, called on the actor of the code that contains it.
    public typealias Completion<Value> =
        @isolated(any) @Sendable (Result<Value, NetworkError>)
        -> Void

    /// Calls `request(_:as:options:)`.
    ///
    /// - Parameters:
    ///   - endpoint: the operation.
    ///   - type: the type to decode.
    ///   - options: the settings of the call that differ from its channel.
    ///   - completion: the handler for the outcome.
    /// - Returns: a handle to cancel the call.
    @discardableResult
    public func request<Value: Decodable & Sendable>(
        _ endpoint: Item,
        as type: Value.Type = Value.self,
        options: CallOptions = CallOptions(),
        @_inheritActorContext completion: @escaping Completion<Value>
    ) -> CallHandle {
        start(completion) { pipeline throws(NetworkError) in
            try await pipeline.value(endpoint, as: type, options)
        }
    }

    /// Calls `request(_:as:options:)` for a request of the program.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - type: the type to decode.
    ///   - options: the settings of the call that differ from its channel.
    ///   - completion: the handler for the outcome.
    /// - Returns: a handle to cancel the call.
    @discardableResult
    public func request<Value: Decodable & Sendable>(
        _ request: Request,
        as type: Value.Type = Value.self,
        options: CallOptions = CallOptions(),
        @_inheritActorContext completion: @escaping Completion<Value>
    ) -> CallHandle {
        start(completion) { pipeline throws(NetworkError) in
            try await pipeline.value(pipeline.call(request, nil, options), as: type)
        }
    }

    /// Calls `response(for:options:)`.
    ///
    /// - Parameters:
    ///   - endpoint: the operation.
    ///   - options: the settings of the call that differ from its channel.
    ///   - completion: the handler for the outcome.
    /// - Returns: a handle to cancel the call.
    @discardableResult
    public func response(
        for endpoint: Item,
        options: CallOptions = CallOptions(),
        @_inheritActorContext completion: @escaping Completion<WholeResponse>
    ) -> CallHandle {
        start(completion) { pipeline throws(NetworkError) in
            try await pipeline.whole(try pipeline.call(endpoint, options)).0
        }
    }

    /// Calls `perform(_:authorization:options:)`.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - options: the settings of the call that differ from its channel.
    ///   - completion: the handler for the outcome.
    /// - Returns: a handle to cancel the call.
    @discardableResult
    public func perform(
        _ request: Request,
        options: CallOptions = CallOptions(),
        @_inheritActorContext completion: @escaping Completion<WholeResponse>
    ) -> CallHandle {
        start(completion) { pipeline throws(NetworkError) in
            try await pipeline.whole(pipeline.call(request, nil, options)).0
        }
    }

    /// Calls `data(for:options:)`.
    ///
    /// - Parameters:
    ///   - endpoint: the operation.
    ///   - options: the settings of the call that differ from its channel.
    ///   - completion: the handler for the outcome.
    /// - Returns: a handle to cancel the call.
    @discardableResult
    public func data(
        for endpoint: Item,
        options: CallOptions = CallOptions(),
        @_inheritActorContext completion: @escaping Completion<Data>
    ) -> CallHandle {
        start(completion) { pipeline throws(NetworkError) in
            try await pipeline.whole(try pipeline.call(endpoint, options)).0.data
        }
    }

    /// Calls `upload(_:_:options:)`.
    ///
    /// - Parameters:
    ///   - endpoint: the operation.
    ///   - content: the content that replaces the endpoint's own.
    ///   - options: the settings of the call that differ from its channel.
    ///   - completion: the handler for the outcome.
    /// - Returns: a handle to cancel the call.
    @discardableResult
    public func upload(
        _ endpoint: Item,
        _ content: HTTPTask? = nil,
        options: CallOptions = CallOptions(),
        @_inheritActorContext completion: @escaping Completion<WholeResponse>
    ) -> CallHandle {
        start(completion) { pipeline throws(NetworkError) in
            try await pipeline.whole(try pipeline.call(endpoint, options, task: content)).0
        }
    }

    /// Calls `download(_:to:resuming:options:)`.
    ///
    /// - Parameters:
    ///   - endpoint: the operation, which must not set `Range`, because the whole content is requested.
    ///   - path: the path of the file.
    ///   - resumePoint: the resume point of an earlier download.
    ///   - options: the settings of the call that differ from its channel; the timeout applies to each head.
    ///   - completion: the handler for the outcome.
    /// - Returns: a handle to cancel the call.
    @discardableResult
    public func download(
        _ endpoint: Item,
        to path: String,
        resuming resumePoint: ResumePoint? = nil,
        options: CallOptions = CallOptions(),
        @_inheritActorContext completion: @escaping Completion<DownloadedFile>
    ) -> CallHandle {
        start(completion) { pipeline throws(NetworkError) in
            try await pipeline.download(
                try pipeline.call(endpoint, options),
                to: path,
                resuming: resumePoint
            )
        }
    }

    /// Calls `stream(_:options:)`; the outcome is the head, and `for try await` reads the content.
    ///
    /// - Parameters:
    ///   - endpoint: the operation.
    ///   - options: the settings of the call that differ from its channel.
    ///   - completion: the handler for the outcome.
    /// - Returns: a handle to cancel the call.
    @discardableResult
    public func stream(
        _ endpoint: Item,
        options: CallOptions = CallOptions(),
        @_inheritActorContext completion: @escaping Completion<ResponseStream>
    ) -> CallHandle {
        start(completion) { pipeline throws(NetworkError) in
            try await pipeline.stream(try pipeline.call(endpoint, options))
        }
    }

    private func start<Value: Sendable>(
        _ completion: @escaping Completion<Value>,
        _ call:
            @escaping @Sendable (CallPipeline<Item>) async throws(NetworkError) -> Value
    ) -> CallHandle {
        let pipeline = pipeline
        // Start a new task, because the caller has none to wait in.
        return CallHandle(
            Task { [weak self] in
                let result: Result<Value, NetworkError>
                do throws(NetworkError) {
                    result = .success(try await call(pipeline))
                } catch {
                    result = .failure(error)
                }
                if self != nil { await completion(result) }
            }
        )
    }
}
