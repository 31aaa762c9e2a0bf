public import FoundationEssentials

/// A call that was started with a completion handler.
public struct CallHandle: Sendable {
    private let task: Task<Void, Never>

    init(_ task: Task<Void, Never>) {
        self.task = task
    }

    /// Cancels the call; its completion handler gets `cancelled`, unless it was called already.
    public func cancel() { task.cancel() }

    /// Returns when the completion handler has returned.
    public func finished() async { await task.value }
}

/// Calls with a completion handler, for callers without async/await.
///
/// The handler is called once, where it was written: that of a method of a `@MainActor` class on the main actor,
/// others on no particular thread. It is dropped if the manager is gone by then.
extension NetworkManager {
    /// Gets the outcome of a call, on the actor that it was written in.
    public typealias Completion<Value> =
        @isolated(any) @Sendable (Result<Value, NetworkError>)
        -> Void

    /// As `request(_:as:options:)`.
    ///
    /// - Parameters:
    ///   - endpoint: the operation.
    ///   - type: the type to decode.
    ///   - options: the call's differences from its channel.
    ///   - completion: gets the outcome.
    /// - Returns: a handle to cancel the call with.
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

    /// As `request(_:as:options:)` for a request of the program's own.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - type: the type to decode.
    ///   - options: the call's differences from its channel.
    ///   - completion: gets the outcome.
    /// - Returns: a handle to cancel the call with.
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

    /// As `response(for:options:)`.
    ///
    /// - Parameters:
    ///   - endpoint: the operation.
    ///   - options: the call's differences from its channel.
    ///   - completion: gets the outcome.
    /// - Returns: a handle to cancel the call with.
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

    /// As `perform(_:authorization:options:)`.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - options: the call's differences from its channel.
    ///   - completion: gets the outcome.
    /// - Returns: a handle to cancel the call with.
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

    /// As `data(for:options:)`.
    ///
    /// - Parameters:
    ///   - endpoint: the operation.
    ///   - options: the call's differences from its channel.
    ///   - completion: gets the outcome.
    /// - Returns: a handle to cancel the call with.
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

    /// As `upload(_:_:options:)`.
    ///
    /// - Parameters:
    ///   - endpoint: the operation.
    ///   - content: the content that replaces the endpoint's own.
    ///   - options: the call's differences from its channel.
    ///   - completion: gets the outcome.
    /// - Returns: a handle to cancel the call with.
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

    /// As `download(_:to:resuming:options:)`.
    ///
    /// - Parameters:
    ///   - endpoint: the operation; all of its content is asked for, so it must not set `Range`.
    ///   - path: where the file goes.
    ///   - resumePoint: where an earlier download broke off.
    ///   - options: the call's differences from its channel; the timeout is for each head.
    ///   - completion: gets the outcome.
    /// - Returns: a handle to cancel the call with.
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

    /// As `stream(_:options:)`: the outcome is the head, and the content is read with `for try await`.
    ///
    /// - Parameters:
    ///   - endpoint: the operation.
    ///   - options: the call's differences from its channel.
    ///   - completion: gets the outcome.
    /// - Returns: a handle to cancel the call with.
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
        // In a new task: the caller has none to wait in.
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
