import CNetproxySystem
import Glibc

// The entry points from C. Each one converts its arguments and makes one call.

let heldSignalArrived:
    @convention(c) (Int32, UnsafeMutablePointer<siginfo_t>?, UnsafeMutableRawPointer?) -> Void = {
        signal,
        information,
        _ in
        // The terminal's signals come from the kernel and go to the whole group.
        guard let information = unsafe information else { return }
        let isForAll = unsafe information.pointee.si_code == SI_KERNEL
        ChildProcess.held(signal, sentTo: isForAll ? .group : .process)
    }

let threadMissing: @convention(c) (Int32) -> Void = { _ in ThreadCheck.giveUp() }

let crashed: @convention(c) (Int32) -> Void = { MemoryReport.explain($0) }

/// Starts a detached thread that runs `body` and ends.
///
/// - Returns: 0, or the error number if the system cannot start another thread.
package func startThread(named name: String, _ body: @escaping @Sendable () -> Void) -> Int32 {
    var thread = pthread_t()
    // SAFETY: retained for the new thread, which takes ownership; released here if it was not started.
    let context = unsafe Unmanaged.passRetained(ThreadBody(body))
    let code = unsafe pthread_create(&thread, nil, threadStarted, context.toOpaque())
    guard code == 0 else {
        unsafe context.release()
        return code
    }
    unsafe pthread_setname_np(thread, name)
    pthread_detach(thread)
    return 0
}

private let threadStarted: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = {
    context in
    guard let context = unsafe context else { return nil }
    unsafe Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().run()
    return nil
}

/// The function that a thread runs.
private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) {
        self.run = run
    }
}
