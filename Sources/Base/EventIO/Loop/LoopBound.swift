/// A value that belongs to one event loop, for code that passes it on without running there.
// SAFETY: the value is handed out on its loop's thread only, which is checked each time.
package struct LoopBound<Value>: @unchecked Sendable {
    private let guarded: Value
    /// The loop that the value belongs to.
    package let loop: EventLoop

    /// Binds a value; call it on the loop.
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
    /// Call it from outside.
    package func call<Result: Sendable>(
        _ body: @escaping @Sendable (Value) -> Result
    ) async -> Result {
        await withCheckedContinuation { continuation in
            loop.submit { continuation.resume(returning: body(value)) }
        }
    }
}

extension EventLoop {
    /// Makes a value on the loop, and returns it bound to the loop.
    ///
    /// Call it from outside.
    package func call<Value>(
        _ body: @escaping @Sendable (EventLoop) -> Value
    ) async -> LoopBound<Value> {
        await withCheckedContinuation { continuation in
            submit { [self] in continuation.resume(returning: LoopBound(body(self), on: self)) }
        }
    }
}
