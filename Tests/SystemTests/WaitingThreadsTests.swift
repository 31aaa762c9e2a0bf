import Glibc
import NetproxySystem
import Synchronization
import Testing

@Suite struct WaitingThreadsTests {
    private final class Counts: Sendable {
        let running = Atomic(0)
        let most = Atomic(0)
    }

    private let counts = Counts()

    @Test func `each thread runs one waiting task at the same time`() async {
        let threads = WaitingThreads(limit: 5)
        await withTaskGroup { group in
            for _ in 0..<5 {
                group.addTask(executorPreference: threads) { [counts] in
                    // Each task keeps its thread until all are running.
                    counts.running.add(1, ordering: .relaxed)
                    while counts.running.load(ordering: .relaxed) < 5 { sched_yield() }
                }
            }
        }
        #expect(counts.running.load(ordering: .relaxed) == 5)
    }

    @Test func `tasks beyond the number of threads run later`() async {
        let threads = WaitingThreads(limit: 2)
        let done = await withTaskGroup { group in
            for _ in 0..<200 {
                group.addTask(executorPreference: threads) { [counts] in
                    let count = counts.running.add(1, ordering: .relaxed).newValue
                    counts.most.max(count, ordering: .relaxed)
                    sched_yield()
                    counts.running.subtract(1, ordering: .relaxed)
                    return 1
                }
            }
            return await group.reduce(0, +)
        }
        #expect(done == 200)
        #expect(counts.most.load(ordering: .relaxed) <= 2)
    }
}
