import Synchronization

/// A value that a task of its own changes, for whoever started it and may not get its result.
package final class Kept<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    /// Keeps a value.
    package init(_ value: Value) {
        state = Mutex(value)
    }

    /// The value as the last change has left it.
    package var value: Value { state.withLock { $0 } }

    /// Changes the value, which is kept however the change ends.
    package func change<Result>(
        _ body: (inout Value) async throws -> Result
    ) async throws -> Result {
        var value = value
        defer { state.withLock { [value] in $0 = value } }
        return try await body(&value)
    }
}
