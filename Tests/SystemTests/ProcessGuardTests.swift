import Glibc
import NetproxySystem
import Testing

/// Tests of the protections that a process enables when it starts.
@Suite struct ProcessGuardTests {
    @Test func `forbidDumps disables core dumps`() throws {
        // The values of the macros PR_GET_DUMPABLE and PR_SET_DUMPABLE.
        let (question, order): (Int32, Int32) = (3, 4)
        // SAFETY: the function takes only integers, and the symbol is from the C library.
        let prctl = unsafe unsafeBitCast(
            try #require(unsafe dlsym(nil, "prctl")),
            to: (@convention(c) (Int32, UInt, UInt, UInt, UInt) -> Int32).self
        )
        let before = prctl(question, 0, 0, 0, 0)
        defer { _ = prctl(order, UInt(before), 0, 0, 0) }
        #expect(MemoryPrivacy.forbidDumps())
        #expect(prctl(question, 0, 0, 0, 0) == 0)
    }

    @Test func `the alarm for the first thread is cleared once that thread runs`() {
        ThreadCheck.begin()
        #expect((1...5).contains(alarm(5)))
        ThreadCheck.end()
        #expect(alarm(0) == 0)
    }
}
