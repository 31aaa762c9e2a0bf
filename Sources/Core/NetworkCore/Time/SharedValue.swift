import Synchronization

/// A value that a child task changes, for a caller that may not receive the task's result.
package final class SharedValue<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    /// Creates a shared value.
    package init(_ value: Value) {
        state = Mutex(value)
    }

    /// The value after the last change.
    package var value: Value { state.withLock { $0 } }

    /// Changes the value; the change persists even if `body` throws.
    package func change<Result>(
        _ body: (inout Value) async throws -> Result
    ) async throws -> Result {
        var value = value
        defer { state.withLock { [value] in $0 = value } }
        return try await body(&value)
    }
}
