package import Bytes
import CLibevent
import Glibc
import Synchronization
import System

/// One thread with one libevent base: it waits for sockets and timers and runs the tasks that
/// prefer it, one after the other.
///
/// A task started with `Task(executorPreference: loop)` stays on the loop through every `await`, so
/// what belongs to the loop needs no lock. Nothing here blocks but the wait for events.
// SAFETY: everything mutable but `inbox`, `finished` and `thread` is touched by the loop's own thread
// only, which `preconditionCurrent()` checks where others could call.
@safe package final class EventLoop: TaskExecutor, @unchecked Sendable {
    /// A number for people.
    package let index: Int
    /// Spare memory for reading.
    package let slabs = SlabPool()
    /// Spare memory for heads on their way out.
    package let outputs = OutputPool()
    /// How long it has polled in all, in nanoseconds; for the loop's thread.
    package internal(set) var timePolled: UInt64 = 0

    let base: OpaquePointer
    /// How far ahead of the system's clock the loop's is; 0 outside of tests.
    var lead: UInt64 = 0
    private let wakeDescriptor: Int32
    private var wakeEvent: OpaquePointer?
    var timerEvent: OpaquePointer?
    var timerArmed = UInt64.max
    var isCatchingUp = false
    /// Nothing where the loop may not poll.
    var polling: BusyPolling?
    @exclusivity(unchecked) var wheel: TimerWheel
    // SAFETY: the loop's thread only, and nothing is called while one of these is being changed.
    @exclusivity(unchecked) var time: UInt64
    /// Whether the loop has waited since `time` was read.
    @exclusivity(unchecked) var isTimeOver = false
    @exclusivity(unchecked) var calendar = CalendarClock()
    @exclusivity(unchecked) private(set) var jobs: [UnownedJob] = []
    @exclusivity(unchecked) private var spareJobs: [UnownedJob] = []
    /// How many jobs of the present run are still to come.
    @exclusivity(unchecked) private(set) var jobsLeft = 0
    /// Sockets with something posted, each retained once.
    @exclusivity(unchecked) var posting: [Unmanaged<StreamSocket>] =
        unsafe []
    @exclusivity(unchecked) var isFlushing = false
    private(set) var isStopping = false
    private let thread = Atomic<UInt>(0)
    private let inbox = Mutex(Inbox())
    private let finished = Mutex<(isOver: Bool, waiters: [CheckedContinuation<Void, Never>])>(
        (false, [])
    )

    private struct Inbox {
        var jobs: [UnownedJob] = []
        var calls: [@Sendable () -> Void] = []
        /// Whether nobody looks into it any more.
        var isOver = false
        var isEmpty: Bool { jobs.isEmpty && calls.isEmpty }
    }

    /// Makes a loop that does not run yet.
    ///
    /// - Throws: `IOError.system` when the process has no descriptors left.
    package init(index: Int = 0) throws {
        self.index = index
        let start = monotonicNanoseconds()
        unsafe time = start
        unsafe wheel = TimerWheel(now: start)
        guard let configuration = unsafe event_config_new() else {
            throw IOError.system("out of memory")
        }
        defer { unsafe event_config_free(configuration) }
        // Edge triggering and early close are what the sockets are written for: epoll only.
        let features = Int32(EV_FEATURE_ET.rawValue | EV_FEATURE_EARLY_CLOSE.rawValue)
        guard
            unsafe event_config_set_flag(
                configuration,
                Int32(EVENT_BASE_FLAG_NOLOCK.rawValue)
            ) == 0,
            unsafe event_config_require_features(configuration, features) == 0,
            let base = unsafe event_base_new_with_config(configuration)
        else { throw IOError.system("libevent offers no edge-triggered backend") }
        unsafe self.base = base
        wakeDescriptor = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
        guard wakeDescriptor >= 0 else { throw IOError.system(describe(errno: systemError())) }
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe wakeEvent = event_new(
            base,
            wakeDescriptor,
            Int16(EV_READ | EV_PERSIST),
            loopWoken,
            context
        )
        unsafe timerEvent = event_new(base, -1, 0, loopTimerFired, context)
        guard unsafe wakeEvent != nil, unsafe timerEvent != nil,
            unsafe event_add(wakeEvent, nil) == 0
        else { throw IOError.system("libevent takes no event") }
    }

    deinit {
        // `init` may have failed before there was an event.
        if unsafe wakeEvent != nil { unsafe event_free(wakeEvent) }
        if unsafe timerEvent != nil { unsafe event_free(timerEvent) }
        unsafe event_base_free(base)
        if wakeDescriptor >= 0 { close(wakeDescriptor) }
    }

    // MARK: - Life

    /// Runs the loop on a thread of its own until `stop()`.
    ///
    /// - Throws: `IOError.system` when the system starts no more threads.
    package func start() throws(IOError) {
        let code = startThread(named: "loop-\(index)") { self.run() }
        guard code == 0 else {
            throw .system(
                "no thread can be started: \(describe(errno: code)); raise the limit of processes "
                    + "(TasksMax=, ulimit -u)"
            )
        }
    }

    /// Runs the loop on the calling thread until `stop()`.
    func run() {
        thread.store(UInt(pthread_self()), ordering: .releasing)
        while !isStopping {
            runJobs()
            flush()
            // Jobs beyond the bound, and whoever learns of a fault from a flush.
            if hasWork { takeEvents() } else { waitForEvents() }
        }
        runJobs()
        flush()
        finish()
    }

    /// Refuses calls from now on, and tells those who wait for the end.
    private func finish() {
        // A call that is kept would keep the loop, and the loop the call.
        let unheard = inbox.withLock { inbox in
            inbox.isOver = true
            defer { inbox.calls = [] }
            return inbox.calls
        }
        _ = consume unheard
        let waiters = finished.withLock { state in
            state.isOver = true
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Ends the loop after its present turn.
    ///
    /// Tasks that still wait on it never continue.
    package func stop() {
        submit { [self] in isStopping = true }
    }

    /// Returns when the loop has ended.
    ///
    /// Call it from outside the loop.
    package func waitUntilStopped() async {
        await withCheckedContinuation { continuation in
            let isOver = finished.withLock { state in
                if !state.isOver { state.waiters.append(continuation) }
                return state.isOver
            }
            if isOver { continuation.resume() }
        }
    }

    // MARK: - Work

    /// How many pieces of work there are: tasks to run, and sockets to flush.
    var workCount: Int { unsafe jobs.count + posting.count }

    /// Whether the caller runs on this loop's thread.
    @inline(__always)
    package var isCurrent: Bool {
        thread.load(ordering: .relaxed) == UInt(pthread_self())
    }

    /// Traps when called from another thread: a bug of ours.
    @inline(__always)
    package func preconditionCurrent() {
        precondition(isCurrent, "called outside of its event loop")
    }

    /// Takes a piece of a task to run.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if isCurrent {
            unsafe jobs.append(job)
        } else {
            deliver { $0.jobs.append(job) }
        }
    }

    /// Calls `body` on the loop, soon; never, if the loop has ended.
    package func submit(_ body: @escaping @Sendable () -> Void) {
        deliver { if !$0.isOver { $0.calls.append(body) } }
    }

    private func deliver(_ change: (inout sending Inbox) -> Void) {
        let wasEmpty = inbox.withLock { inbox in
            let wasEmpty = inbox.isEmpty
            change(&inbox)
            return wasEmpty
        }
        if wasEmpty {
            var one: UInt64 = 1
            // SAFETY: eight bytes on the stack. A full counter (EAGAIN) means it is awake anyway.
            _ = unsafe write(wakeDescriptor, &one, 8)
        }
    }

    /// Runs what is ready, and what that makes ready, up to a bound that keeps sockets from waiting.
    private func runJobs() {
        let executor = unsafe asUnownedTaskExecutor()
        for _ in 0..<64 {
            if unsafe jobs.isEmpty { return }
            unsafe swap(&jobs, &spareJobs)
            unsafe jobsLeft = spareJobs.count
            for job in unsafe spareJobs {
                unsafe jobsLeft -= 1
                unsafe job.runSynchronously(on: executor)
            }
            unsafe spareJobs.removeAll(keepingCapacity: true)
        }
    }

    func woken() {
        var count: UInt64 = 0
        // SAFETY: eight bytes on the stack; the value does not matter.
        _ = unsafe read(wakeDescriptor, &count, 8)
        let taken = inbox.withLock { inbox in
            let taken = inbox
            inbox = Inbox()
            return taken
        }
        for job in taken.jobs { unsafe jobs.append(job) }
        for call in taken.calls { call() }
    }
}
