import FoundationEssentials
import Glibc
import NetproxyEventIO
import NetproxySystem
import TestSupport
import Testing

// An extension of that suite because the process has one set of signal handlers.
extension ChildProcessTests {
    @Test func `a signal after the source closed does not end the process`() async throws {
        let loop = try TestLoop.shared()
        let arrived = Counter()
        let source = await loop.call { SignalSource(on: $0) { _ in arrived.add(1) } }
        #expect(kill(getpid(), SIGHUP) == 0)
        #expect(await eventually { arrived.value == 1 })
        await source.call { $0.close() }
        // By default, each of them would end the process.
        for signal in [SIGHUP, SIGUSR1, SIGTERM, SIGINT] {
            #expect(try ignored() & (1 << UInt64(signal - 1)) != 0)
            // Restores the default, so that the tests can still be stopped from outside.
            Glibc.signal(signal, SIG_DFL)
        }
    }

    @Test func `unused signals do not end the process`() throws {
        let unused = [SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGXFSZ]
        ProcessSignal.ignoreNotices()
        defer { for signal in unused + [SIGHUP, SIGUSR1] { Glibc.signal(signal, SIG_DFL) } }
        let realTime = __libc_current_sigrtmax()
        for signal in unused + [realTime] { #expect(kill(getpid(), signal) == 0) }
        Glibc.signal(realTime, SIG_DFL)
    }

    @Test func `the program ignores the signals ignored at its start, as under nohup`()
        async throws
    {
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

    @Test func `an ignored signal is forwarded to a program that handles it`() async throws {
        Glibc.signal(SIGUSR2, SIG_IGN)
        defer { Glibc.signal(SIGUSR2, SIG_DFL) }
        let loop = try TestLoop.shared()
        // Perl, because a shell cannot trap a signal that was ignored when the shell started. The program
        // ignores further signals while it exits.
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

    /// Returns the signals that the process ignores, one bit each, from `/proc/self/status`.
    private func ignored() throws -> UInt64 {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("SigIgn:") })
        let digits = try #require(line.split(whereSeparator: \.isWhitespace).last)
        return try #require(UInt64(digits, radix: 16))
    }
}
