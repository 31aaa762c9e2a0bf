import CNetproxyLibevent
import Glibc
package import NetproxyBytes
import NetproxySystem
import Synchronization

/// One thread with one libevent base.
///
/// It waits for sockets and timers, and runs the tasks that prefer it one after the other. A task started
/// with `Task(executorPreference: loop)` stays on the loop through every `await`, so state that belongs to
/// the loop needs no lock. Only the wait for events blocks.
// SAFETY: all mutable state except `inbox`, `end` and `thread` is used only by the loop's own thread.
// Functions that other threads could call check this with `preconditionCurrent()`.
@safe package final class EventLoop: TaskExecutor, @unchecked Sendable {
    /// The number of the loop, used in the name of its thread.
    package let index: Int
    /// Spare memory for reading.
    package let slabs = SlabPool()
    /// Spare memory for outgoing heads.
    package let outputs = OutputPool()
    /// The total time of polling, in nanoseconds; only for the loop's thread.
    package internal(set) var timePolled: UInt64 = 0

    let base: OpaquePointer
    private var wakeEvent: OpaquePointer?
    private var timerEvent: OpaquePointer?
    /// The polling decision; `nil` if the loop may not poll.
    var polling: BusyPolling?
    // SAFETY: only the loop's thread uses these, and nothing is called while one of them changes.
    @exclusivity(unchecked) var clock = LoopClock()
    @exclusivity(unchecked) var wheel: TimerWheel
    @exclusivity(unchecked) var alarm = LoopAlarm()
    @exclusivity(unchecked) private var jobs: [UnownedJob] = []
    @exclusivity(unchecked) private var spareJobs: [UnownedJob] = []
    /// The number of jobs left in the current run.
    @exclusivity(unchecked) private var jobsLeft = 0
    @exclusivity(unchecked) private var flushes = FlushQueue()
    private(set) var isStopping = false
    private let thread = Atomic<UInt>(0)
    private let inbox: LoopInbox
    private let end = LoopEnd()

    /// Creates a loop that does not run yet.
    ///
    /// - Throws: `IOError.system` if the process has no descriptors left.
    package init(index: Int = 0) throws {
        self.index = index
        inbox = try LoopInbox()
        unsafe wheel = TimerWheel(now: monotonicNanoseconds())
        guard let configuration = unsafe event_config_new() else {
            throw IOError.system("out of memory")
        }
        defer { unsafe event_config_free(configuration) }
        // The sockets require edge triggering and early close, which only epoll provides.
        let features = Int32(EV_FEATURE_ET.rawValue | EV_FEATURE_EARLY_CLOSE.rawValue)
        guard
            unsafe event_config_set_flag(
                configuration,
                Int32(EVENT_BASE_FLAG_NOLOCK.rawValue)
            ) == 0,
            unsafe event_config_require_features(configuration, features) == 0,
            let base = unsafe event_base_new_with_config(configuration)
        else { throw IOError.system("libevent has no edge-triggered backend") }
        unsafe self.base = base
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe wakeEvent = event_new(
            base,
            inbox.descriptor,
            Int16(EV_READ | EV_PERSIST),
            loopWoken,
            context
        )
        unsafe timerEvent = event_new(base, -1, 0, loopTimerFired, context)
        guard unsafe wakeEvent != nil, unsafe timerEvent != nil,
            unsafe event_add(wakeEvent, nil) == 0
        else { throw IOError.system("libevent refuses an event") }
    }

    deinit {
        // `init` may have failed before the events existed.
        if unsafe wakeEvent != nil { unsafe event_free(wakeEvent) }
        if unsafe timerEvent != nil { unsafe event_free(timerEvent) }
        unsafe event_base_free(base)
    }

    /// The version of libevent in use.
    package static var libraryVersion: String {
        unsafe event_get_version().map { unsafe String(cString: $0) } ?? "unknown"
    }

    // MARK: - Life

    /// Runs the loop on its own thread until `stop()`.
    ///
    /// - Throws: `IOError.system` if the system cannot start more threads.
    package func start() throws(IOError) {
        let code = startThread(named: "loop-\(index)") { self.run() }
        guard code == 0 else {
            throw .system(
                "cannot start a thread: \(describe(errno: code)); raise the limit of processes "
                    + "(TasksMax=, ulimit -u)"
            )
        }
    }

    private func run() {
        thread.store(UInt(pthread_self()), ordering: .releasing)
        while !isStopping {
            runJobs()
            flush()
            // There may be jobs beyond the limit, and tasks that a failed flush has resumed.
            if hasWork { takeEvents() } else { waitForEvents() }
        }
        runJobs()
        flush()
        inbox.close()
        end.announce()
    }

    /// Ends the loop after its current turn.
    ///
    /// Tasks that still wait on the loop never continue.
    package func stop() {
        submit { [self] in isStopping = true }
    }

    /// Returns when the loop has ended.
    ///
    /// Must be called from outside the loop.
    package func waitUntilStopped() async {
        await end.wait()
    }

    // MARK: - Work

    /// The number of pieces of work: jobs to run and entries to flush.
    var workCount: Int { unsafe jobs.count + flushes.count }

    /// Whether the caller runs on this loop's thread.
    @inline(__always)
    package var isCurrent: Bool {
        thread.load(ordering: .relaxed) == UInt(pthread_self())
    }

    /// Traps if called from another thread, which is a bug in this program.
    @inline(__always)
    package func preconditionCurrent() {
        precondition(isCurrent, "called outside its event loop")
    }

    /// Accepts a part of a task to run.
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if isCurrent {
            unsafe jobs.append(job)
        } else {
            inbox.add(job)
        }
    }

    /// Calls `body` on the loop soon, or never if the loop has ended.
    package func submit(_ body: @escaping @Sendable () -> Void) {
        inbox.add(body)
    }

    /// Takes over work from other threads.
    func woken() {
        let taken = inbox.take()
        for job in taken.jobs { unsafe jobs.append(job) }
        for call in taken.calls { call() }
    }

    /// Runs the ready jobs, and those that become ready, up to a limit that keeps sockets from waiting.
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

    /// Flushes the entry at the end of this turn, or immediately if no other work is ready.
    package func flushLater(_ entry: FlushEntry) {
        let isLast = unsafe jobsLeft == 0 && jobs.isEmpty
        if unsafe isLast ? flushes.addLast(entry) : flushes.add(entry) { flush() }
    }

    private func flush() {
        while let entry = unsafe flushes.takeNext() {
            unsafe entry._withUnsafeGuaranteedRef { $0.flush() }
            unsafe entry.release()
        }
    }

    // MARK: - Waiting

    /// Whether the loop may poll before it sleeps; it then measures whether polling is better.
    ///
    /// Only for the loop's thread.
    package var mayPoll: Bool {
        get { polling != nil }
        set {
            preconditionCurrent()
            if newValue != mayPoll { polling = newValue ? BusyPolling() : nil }
        }
    }

    /// Whether the loop has something to do before it waits again.
    private var hasWork: Bool { workCount > 0 || isStopping }

    /// Waits until there is work, or until an event has been handled that leaves no work.
    private func waitForEvents() {
        if polling?.isOn != true || !poll() { sleepUntilEvents() }
        if polling?.count(work: workCount) == true {
            polling?.measure(at: now, cost: threadProcessorNanoseconds())
        }
    }

    /// Handles events repeatedly for a short time; returns whether there is work afterward.
    private func poll() -> Bool {
        unsafe clock.expire()
        let start = now
        var spent: UInt64 = 0
        repeat {
            takeEvents()
            spent = now &- start
        } while !hasWork && spent < BusyPolling.longest
        timePolled &+= spent
        return hasWork
    }

    /// Handles the available events without waiting.
    private func takeEvents() {
        unsafe clock.expire()
        _ = unsafe event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK)
    }

    /// Handles the available events; sleeps first if there are none.
    private func sleepUntilEvents() {
        unsafe clock.expire()
        _ = unsafe event_base_loop(base, EVLOOP_ONCE)
    }

    /// Schedules the call of `timerDue()` after `delay`, in nanoseconds; replaces the earlier schedule.
    func setTimer(after delay: UInt64) {
        var interval = timeval(
            tv_sec: Int(delay / 1_000_000_000),
            tv_usec: Int(delay % 1_000_000_000 / 1000) + 1
        )
        unsafe event_add(timerEvent, &interval)
    }
}
