import Glibc
import System
import Testing

/// What a process does for its own protection as it starts; each test in a process of its own.
@Suite struct ProcessGuardTests {
    @Test func `no core dump is written of a process that keeps secrets`() async {
        await #expect(processExitsWith: .success) {
            // PR_GET_DUMPABLE, a macro.
            let question: Int32 = 3
            // SAFETY: the function takes whole numbers only, and its symbol is that of the C library.
            let prctl = unsafe unsafeBitCast(
                try #require(unsafe dlsym(nil, "prctl")),
                to: (@convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32).self
            )
            #expect(prctl(question, 0, 0, 0, 0) == 1)
            #expect(MemoryPrivacy.forbidDumps())
            #expect(prctl(question, 0, 0, 0, 0) == 0)
        }
    }

    @Test func `a first thread that starts ends the wait for it`() async {
        await #expect(processExitsWith: .success) {
            ThreadCheck.begin()
            #expect((1...5).contains(alarm(5)))
            ThreadCheck.end()
            #expect(alarm(0) == 0)
        }
    }

    @Test func `a system that starts no thread is told of, and the process ends`() async {
        let result = await #expect(
            processExitsWith: .exitCode(1),
            observing: [\.standardErrorContent]
        ) {
            ThreadCheck.begin()
            // A thread of a pool blocks all signals.
            var alarms = sigset_t()
            unsafe sigemptyset(&alarms)
            unsafe sigaddset(&alarms, SIGALRM)
            unsafe pthread_sigmask(SIG_UNBLOCK, &alarms, nil)
            raise(SIGALRM)
        }
        let words = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(words.contains("starts no thread; raise the limit of processes"))
    }
}
