/// A value that belongs to one event loop, for code that forwards it without running on that loop.
// SAFETY: the value is accessed only on its loop's thread, which is checked each time.
package struct LoopBound<Value>: @unchecked Sendable {
    private let guarded: Value
    /// The loop that the value belongs to.
    package let loop: EventLoop

    /// Binds a value to a loop; must be called on the loop.
    package init(_ value: Value, on loop: EventLoop) {
        guarded = value
        self.loop = loop
    }

    /// The value.
    ///
    /// Traps outside its loop.
    @inline(__always)
    package var value: Value {
        loop.preconditionCurrent()
        return guarded
    }
}

extension LoopBound {
    /// Calls `body` with the value on its loop, and returns its result.
    ///
    /// Must be called from outside the loop.
    package func call<Result: Sendable>(
        _ body: @escaping @Sendable (Value) -> Result
    ) async -> Result {
        await withCheckedContinuation { continuation in
            loop.submit { continuation.resume(returning: body(value)) }
        }
    }
}

extension EventLoop {
    /// Creates a value on the loop, and returns it bound to the loop.
    ///
    /// Must be called from outside the loop.
    package func call<Value>(
        _ body: @escaping @Sendable (EventLoop) -> Value
    ) async -> LoopBound<Value> {
        await withCheckedContinuation { continuation in
            submit { [self] in continuation.resume(returning: LoopBound(body(self), on: self)) }
        }
    }
}
