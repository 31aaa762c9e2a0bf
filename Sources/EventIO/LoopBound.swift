/// Something that belongs to one event loop, on its way through code that does not know it.
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

    /// The value. Traps outside of its loop.
    @inline(__always)
    package var value: Value {
        loop.preconditionCurrent()
        return guarded
    }
}
