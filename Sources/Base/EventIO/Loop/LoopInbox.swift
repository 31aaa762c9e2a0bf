import CNetproxyLibevent
import Glibc
import NetproxySystem
import Synchronization

/// Work for a loop from other threads: parts of tasks to run, and functions to call.
struct LoopInbox: ~Copyable, Sendable {
    struct Content {
        var jobs: [UnownedJob] = []
        var calls: [@Sendable () -> Void] = []
        fileprivate var isClosed = false
        fileprivate var isEmpty: Bool { jobs.isEmpty && calls.isEmpty }
    }

    private let content = Mutex(Content())
    /// An eventfd that is readable while the inbox is not empty.
    let descriptor: Int32

    init() throws(IOError) {
        descriptor = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
        guard descriptor >= 0 else { throw .system(describe(errno: systemError())) }
    }

    deinit {
        _ = Glibc.close(descriptor)
    }

    func add(_ job: UnownedJob) {
        deliver { $0.jobs.append(job) }
    }

    /// Adds a call, unless the inbox is closed.
    func add(_ call: @escaping @Sendable () -> Void) {
        deliver { if !$0.isClosed { $0.calls.append(call) } }
    }

    private func deliver(_ change: (inout sending Content) -> Void) {
        let wasEmpty = content.withLock { content in
            let wasEmpty = content.isEmpty
            change(&content)
            return wasEmpty
        }
        if wasEmpty {
            var one: UInt64 = 1
            // SAFETY: eight bytes on the stack. A full counter (EAGAIN) means that the loop is awake anyway.
            _ = unsafe write(descriptor, &one, 8)
        }
    }

    /// Empties the inbox.
    func take() -> Content {
        var count: UInt64 = 0
        // SAFETY: eight bytes on the stack; the value does not matter.
        _ = unsafe read(descriptor, &count, 8)
        return content.withLock { content in
            let taken = content
            content = Content()
            return taken
        }
    }

    /// Drops the calls in the inbox and rejects new ones, since a call may retain the loop that owns the
    /// inbox.
    func close() {
        let dropped = content.withLock { content in
            content.isClosed = true
            defer { content.calls = [] }
            return content.calls
        }
        _ = consume dropped
    }
}

/// The end of a loop, which callers can await.
struct LoopEnd: ~Copyable, Sendable {
    private let state = Mutex<(isOver: Bool, waiters: [CheckedContinuation<Void, Never>])>(
        (false, [])
    )

    /// Returns when the loop has ended.
    func wait() async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                if !state.isOver { state.waiters.append(continuation) }
                return state.isOver
            }
            if isOver { continuation.resume() }
        }
    }

    /// Ends every wait.
    func announce() {
        let waiters = state.withLock { state in
            state.isOver = true
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}
