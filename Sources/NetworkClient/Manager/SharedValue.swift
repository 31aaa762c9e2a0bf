import Synchronization

/// A value that another task changes, for a caller that may not get that task's result.
final class SharedValue<Value: Sendable>: Sendable {
    private let state: Mutex<Value>

    /// Keeps a value.
    init(_ value: Value) {
        state = Mutex(value)
    }

    /// The value as the last change has left it.
    var value: Value { state.withLock { $0 } }

    /// Changes the value, which is kept however the change ends.
    func change<Result>(
        _ body: (inout Value) async throws -> Result
    ) async throws -> Result {
        var value = value
        defer { state.withLock { [value] in $0 = value } }
        return try await body(&value)
    }
}
