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

extension NetworkManager {
    /// As `request(_:as:options:)`, for callers without async/await.
    ///
    /// - Parameters:
    ///   - endpoint: the operation.
    ///   - type: what to decode.
    ///   - options: what this call does differently.
    ///   - completion: gets the outcome, once, on no particular thread; dropped if the manager is
    ///     gone by then.
    /// - Returns: a handle to cancel the call with.
    @discardableResult
    public func request<Value: Decodable & Sendable>(
        _ endpoint: Item,
        as type: Value.Type = Value.self,
        options: CallOptions = CallOptions(),
        completion: @escaping @Sendable (Result<Value, NetworkError>) -> Void
    ) -> CallHandle {
        let pipeline = pipeline
        // In a new task: the caller has none to wait in.
        return CallHandle(
            Task { [weak self] in
                let result: Result<Value, NetworkError>
                do throws(NetworkError) {
                    result = .success(try await pipeline.value(endpoint, as: type, options))
                } catch {
                    result = .failure(error)
                }
                if self != nil { completion(result) }
            }
        )
    }
}
