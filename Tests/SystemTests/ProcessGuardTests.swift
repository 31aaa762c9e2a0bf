import Glibc
import NetproxySystem
import Testing

/// What a process does for its own protection as it starts.
@Suite struct ProcessGuardTests {
    @Test func `no core dump is written of a process that keeps secrets`() throws {
        // PR_GET_DUMPABLE and PR_SET_DUMPABLE, which are macros.
        let (question, order): (Int32, Int32) = (3, 4)
        // SAFETY: the function takes whole numbers only, and its symbol is that of the C library.
        let prctl = unsafe unsafeBitCast(
            try #require(unsafe dlsym(nil, "prctl")),
            to: (@convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32).self
        )
        let before = prctl(question, 0, 0, 0, 0)
        defer { _ = prctl(order, UInt(before), 0, 0, 0) }
        #expect(MemoryPrivacy.forbidDumps())
        #expect(prctl(question, 0, 0, 0, 0) == 0)
    }

    @Test func `a first thread that starts ends the wait for it`() {
        ThreadCheck.begin()
        #expect((1...5).contains(alarm(5)))
        ThreadCheck.end()
        #expect(alarm(0) == 0)
    }
}
