/// Suspends the task until the continuation is resumed, on whatever executor it is on.
///
/// `withUnsafeContinuation` takes its caller's isolation as a parameter. Here it is always none, but
/// the compiler cannot know that, and has the task look for its executor before and after, under a
/// lock: 300 instructions each wait. This name is public and part of the ABI; if a compiler drops it,
/// the other does the same, more slowly.
// SAFETY: `body` keeps the continuation, and whoever takes it out resumes it, once.
@inline(__always)
func suspend(
    _ body: (UnsafeContinuation<Void, Never>) -> Void
) async {
    await unsafe _unsafeInheritExecutor_withUnsafeContinuation(body)
}
