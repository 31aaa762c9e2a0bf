extension StreamSocket {
    /// Waits on a socket that has no other user yet, and aborts it if the task is cancelled.
    ///
    /// - Parameter wait: ends with `.aborted` when the socket is aborted.
    /// - Returns: what `wait` returns.
    package func abortingWhenCancelled<Value>(_ wait: () async -> Value) async -> Value {
        let watch = LoopBound(CancellationWatch(self), on: loop)
        // By the time the loop learns of the cancellation, the socket may have another user.
        defer { watch.value.socket = nil }
        return await withTaskCancellationHandler(operation: wait) {
            watch.loop.submit { watch.value.socket?.abort() }
        }
    }
}

/// The socket that a cancelled task aborts, for as long as it waits for it.
private final class CancellationWatch {
    var socket: StreamSocket?

    init(_ socket: StreamSocket) {
        self.socket = socket
    }
}
