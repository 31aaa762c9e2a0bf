import EventIO
import FoundationEssentials
import Glibc
import TestSupport
import Testing

// Of the same suite, because the process has one set of signal handlers.
extension ChildProcessTests {
    @Test func `a signal that comes after the last work ends nothing`() async throws {
        let loop = try TestLoop.shared()
        let arrived = Counter()
        let source = await loop.call { SignalSource(on: $0) { _ in arrived.add(1) } }
        #expect(kill(getpid(), SIGHUP) == 0)
        #expect(await eventually { arrived.value == 1 })
        await source.call { $0.close() }
        // Each of them would end the process by default.
        for signal in [SIGHUP, SIGUSR1, SIGTERM, SIGINT] {
            #expect(try ignored() & (1 << UInt64(signal - 1)) != 0)
            // Who stops the tests from outside still can.
            Glibc.signal(signal, SIG_DFL)
        }
    }

    /// The signals that the process ignores, one bit each, as the kernel tells.
    private func ignored() throws -> UInt64 {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("SigIgn:") })
        let digits = try #require(line.split(whereSeparator: \.isWhitespace).last)
        return try #require(UInt64(digits, radix: 16))
    }
}
