import FoundationEssentials
import Glibc
import NetproxyEventIO
import NetproxySystem
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

    @Test func `a signal that is ignored stays so for the program, as under nohup`() async throws {
        Glibc.signal(SIGHUP, SIG_IGN)
        defer { Glibc.signal(SIGHUP, SIG_DFL) }
        let loop = try TestLoop.shared()
        let code = try await Task(executorPreference: loop) {
            try ChildProcess.run(
                ["sh", "-c", "kill -HUP $$; exit 4"],
                environment: ["PATH": "/usr/bin:/bin"]
            )
        }.value
        #expect(code == 4)
    }

    @Test func `an ignored signal is sent on to a program that listens to it`() async throws {
        Glibc.signal(SIGUSR2, SIG_IGN)
        defer { Glibc.signal(SIGUSR2, SIG_DFL) }
        let loop = try TestLoop.shared()
        // Not a shell, which cannot listen to what it began with ignored.
        // One that comes while it ends must not end it.
        let program = """
            $SIG{USR2} = sub { $SIG{USR2} = "IGNORE"; exec "sh", "-c", "exit 9" };
            while (1) { kill USR2 => getppid; select undef, undef, undef, 0.005 }
            """
        let code = try await Task(executorPreference: loop) {
            try ChildProcess.run(
                ["perl", "-e", program],
                environment: ["PATH": "/usr/bin:/bin"]
            )
        }.value
        #expect(code == 9)
    }

    /// The signals that the process ignores, one bit each, as the kernel tells.
    private func ignored() throws -> UInt64 {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("SigIgn:") })
        let digits = try #require(line.split(whereSeparator: \.isWhitespace).last)
        return try #require(UInt64(digits, radix: 16))
    }
}
