import NetproxyEventIO
import NetproxySystem
import Testing

/// Serialized because the process has one set of signal handlers.
@Suite(.serialized) struct ChildProcessTests {
    /// Runs the script on a separate thread, which may block.
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
    func `ChildProcess returns the exit code of the program`(script: String, code: Int32)
        async throws
    {
        #expect(try await run(script) == code)
    }

    @Test func `the program receives exactly the passed environment`() async throws {
        #expect(
            try await run(
                "test \"$NETPROXY_KEY\" = 'a b' && test -z \"$HOME\"",
                ["NETPROXY_KEY": "a b"]
            )
                == 0
        )
    }

    @Test func `a signal to this process is forwarded to the program`() async throws {
        // The program requests the signal from its parent, which is this process.
        let script = "trap 'exit 9' USR1; kill -USR1 $PPID; while :; do sleep 0.01; done"
        #expect(try await run(script) == 9)
    }

    @Test(arguments: ["INT", "TERM", "HUP", "QUIT", "USR1"])
    func `a program started on a pool thread receives signals`(name: String) throws {
        // Pool threads block all signals, and tests run on pool threads.
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
