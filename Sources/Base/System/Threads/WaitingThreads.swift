import Glibc
import Synchronization

/// Threads that may wait for a disk, used as a task executor.
///
/// The global executor has as many threads as there are processors, and timers, signals and the watchdog need
/// them: two slow disks would delay them all. The runtime also does not treat it as a preference, so work for
/// it may continue on any executor.
// SAFETY: a mutex guards all state; the semaphore counts the jobs added under it.
@safe package final class WaitingThreads: TaskExecutor, @unchecked Sendable {
    /// The threads of the process.
    package static let shared = WaitingThreads(limit: 16)
    /// The threads of the token stores.
    package static let stores = WaitingThreads(limit: 16)

    private struct State {
        var jobs: [UnownedJob] = []
        var threads = 0
        var idle = 0
    }

    private let limit: Int
    private let state = Mutex(State())
    private let wake: UnsafeMutablePointer<sem_t>

    /// Creates an executor with at most `limit` threads, which start on demand and never end.
    package init(limit: Int) {
        self.limit = limit
        unsafe wake = .allocate(capacity: 1)
        unsafe sem_init(wake, 0, 0)
    }

    deinit {
        // No threads are left, since each of them retains the executor.
        unsafe sem_destroy(wake)
        unsafe wake.deallocate()
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let startsThread = state.withLock { state in
            state.jobs.append(job)
            guard state.jobs.count > state.idle, state.threads < limit else { return false }
            state.threads += 1
            return true
        }
        unsafe sem_post(wake)
        guard startsThread, startThread(named: "disk", { self.serve() }) != 0 else { return }
        // Running threads take the job; without any, it runs here.
        let isAlone = state.withLock { state in
            state.threads -= 1
            return state.threads == 0
        }
        if isAlone { runJobs() }
    }

    /// Runs jobs on each thread, without end.
    private func serve() {
        while true {
            state.withLock { $0.idle += 1 }
            while unsafe sem_wait(wake) != 0 {}
            state.withLock { $0.idle -= 1 }
            runJobs()
        }
    }

    /// Runs all jobs that no other thread has taken.
    private func runJobs() {
        while let job = state.withLock({ $0.jobs.isEmpty ? nil : $0.jobs.removeFirst() }) {
            // SAFETY: each job is taken once, and the executor lives while it runs.
            unsafe job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}
