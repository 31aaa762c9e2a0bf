import EventIO
import Glibc
import TestSupport
import Testing

/// Nobody else in the process of the tests listens to signals.
@Suite struct SignalTests {
    @Test func `a signal that comes after the last work ends nothing`() async throws {
        let loop = try TestLoop.shared()
        let arrived = Counter()
        let source = await loop.call { SignalSource(on: $0) { _ in arrived.add(1) } }
        #expect(kill(getpid(), SIGHUP) == 0)
        #expect(await eventually { arrived.value == 1 })
        await source.call { $0.close() }
        // Each of them would end the process by default.
        for signal in [SIGHUP, SIGUSR1, SIGTERM, SIGINT] { #expect(kill(getpid(), signal) == 0) }
        // Who stops the tests from outside still can.
        for signal in [SIGHUP, SIGUSR1, SIGTERM, SIGINT] { Glibc.signal(signal, SIG_DFL) }
    }
}
