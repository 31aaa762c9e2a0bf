import NetproxyEventIO
import NetproxySystem
import Testing

/// The process has one set of signal handlers, hence one after the other.
@Suite(.serialized) struct ChildProcessTests {
    /// On a thread of its own, which may be blocked.
    private func run(
        _ script: String,
        _ environment: [String: String] = [:]
    ) async throws -> Int32 {
        let loop = try EventLoop(index: 97)
        try loop.start()
        defer { loop.stop() }
        let variables = ["PATH": "/usr/bin:/bin"].merging(environment) { $1 }
        return try await Task(executorPreference: loop) {
            try ChildProcess.run(["sh", "-c", script], environment: variables)
        }.value
    }

    @Test(arguments: [("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -9 $$", 137)])
    func `the exit code is the program's`(script: String, code: Int32) async throws {
        #expect(try await run(script) == code)
    }

    @Test func `the program has the environment that it was given`() async throws {
        #expect(
            try await run(
                "test \"$NETPROXY_KEY\" = 'a b' && test -z \"$HOME\"",
                ["NETPROXY_KEY": "a b"]
            )
                == 0
        )
    }

    @Test func `a signal is sent on`() async throws {
        // The program asks its parent, which is this process, for the signal.
        let script = "trap 'exit 9' USR1; kill -USR1 $PPID; while :; do sleep 0.01; done"
        #expect(try await run(script) == 9)
    }

    @Test(arguments: ["INT", "TERM", "HUP", "QUIT", "USR1"])
    func `a program that is started on a thread of a pool can be stopped`(name: String) throws {
        // Such a thread blocks all signals, and a test runs on one.
        let code = try ChildProcess.run(
            ["sh", "-c", "kill -\(name) $$; exit 3"],
            environment: ["PATH": "/usr/bin:/bin"]
        )
        #expect(code > 128)
    }

    @Test(arguments: [("/nowhere/program", 127), ("/etc/passwd", 126)])
    func `a program that cannot be started has a shell's exit code`(
        program: String,
        code: Int32
    ) throws {
        let failure = #expect(throws: ChildProcess.StartFailure.self) {
            try ChildProcess.run([program], environment: [:])
        }
        #expect(failure?.exitCode == code)
        #expect(failure?.description.hasPrefix("cannot run \(program): ") == true)
    }
}
