import EventIO
import Testing

/// The process has one set of signal handlers, hence one after the other.
@Suite(.serialized) struct ChildProcessTests {
    private func run(_ script: String, _ environment: [String: String] = [:]) throws -> Int32 {
        let path = ["PATH": "/usr/bin:/bin"]
        return try ChildProcess.run(
            ["sh", "-c", script],
            environment: path.merging(environment) { $1 }
        )
    }

    @Test(arguments: [("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -9 $$", 137)])
    func `the exit code is the program's`(script: String, code: Int32) throws {
        #expect(try run(script) == code)
    }

    @Test func `the program has the environment that it was given`() throws {
        #expect(
            try run("test \"$NETPROXY_KEY\" = 'a b' && test -z \"$HOME\"", ["NETPROXY_KEY": "a b"])
                == 0
        )
    }

    @Test func `a signal is sent on`() throws {
        // The program asks its parent, which is this process, for the signal.
        let script = "trap 'exit 9' USR1; kill -USR1 $PPID; while :; do sleep 0.01; done"
        #expect(try run(script) == 9)
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
