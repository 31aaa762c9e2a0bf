import Foundation
import NetproxySystem
import TestSupport
import Testing

/// Tests of programs that run for their output.
@Suite struct HelperProgramTests {
    private func shell(_ script: String, input: String = "") -> HelperProgram {
        HelperProgram(
            command: ["/bin/sh", "-c", script],
            environment: ["PATH": "/usr/bin:/bin"],
            input: Array(input.utf8)
        )
    }

    private func failure(_ program: HelperProgram) async -> HelperProgram.Failure? {
        do {
            _ = try await program.run()
            return nil
        } catch {
            return error
        }
    }

    @Test func `run returns the output of the program`() async throws {
        #expect(try await shell("echo hello").run() == Array("hello\n".utf8))
    }

    @Test func `the program reads its input to the end`() async throws {
        #expect(
            try await shell("cat", input: #"{"version":1}"#).run() == Array(#"{"version":1}"#.utf8)
        )
    }

    @Test func `the program may leave its input unread`() async throws {
        #expect(try await shell("exec 0<&-; echo a", input: "x").run() == Array("a\n".utf8))
    }

    @Test func `the program receives only the passed variables`() async throws {
        let program = HelperProgram(command: ["/usr/bin/env"], environment: ["ONLY": "this"])
        #expect(try await program.run() == Array("ONLY=this\n".utf8))
    }

    @Test func `the arguments are not interpreted by a shell`() async throws {
        let program = HelperProgram(command: ["/bin/echo", "$(id)", "a b", "*"], environment: [:])
        #expect(try await program.run() == Array("$(id) a b *\n".utf8))
    }

    @Test func `the program inherits no open files`() async throws {
        let listed = try await shell("ls /proc/self/fd").run()
        // The fourth is the directory that ls reads.
        #expect(String(decoding: listed, as: UTF8.self) == "0\n1\n2\n3\n")
    }

    @Test func `background processes of the program end with it`() async throws {
        let printed = try await shell("sleep 600 >/dev/null 2>&1 & echo $!").run()
        let number = try #require(Int(String(decoding: printed.dropLast(), as: UTF8.self)))
        let isGone = await eventually {
            let path = "/proc/\(number)/stat"
            guard let stat = FileManager.default.contents(atPath: path) else { return true }
            // A zombie that nobody has reaped yet is dead, too.
            return String(decoding: stat, as: UTF8.self).contains(") Z ")
        }
        #expect(isGone)
    }

    @Test func `an output of 64 KiB is complete, and one byte more is an error`() async throws {
        #expect(try await shell("head -c 65536 /dev/zero").run().count == 65_536)
        #expect(await failure(shell("head -c 65537 /dev/zero")) == .tooLong(65_536))
        #expect(await failure(shell("cat /dev/zero")) == .tooLong(65_536))
    }

    @Test func `the last line of standard error explains the exit status`() async {
        let program = shell("printf 'one\\ntwo \\033[31mred\\n\\n' >&2; exit 3")
        #expect(await failure(program) == .failed(status: 3, words: "two  [31mred"))
    }

    @Test func `the failure names the signal that killed the program`() async {
        #expect(await failure(shell("kill -9 $$")) == .killed(signal: 9, words: nil))
    }

    @Test func `a missing program is reported as not started`() async {
        let program = HelperProgram(command: ["/does/not/exist"], environment: [:])
        #expect(await failure(program) == .notStarted("No such file or directory"))
    }

    @Test func `the deadline kills the whole process group`() async throws {
        let file = FileManager.default.temporaryDirectory
            .appending(path: "helper-\(UInt64.random(in: 0 ... .max))").path()
        defer { try? FileManager.default.removeItem(atPath: file) }
        var program = shell("sleep 600 & echo $! > \(file); wait")
        program.timeLimit = .seconds(2)
        #expect(await failure(program) == .timedOut(.seconds(2)))
        let written = try String(contentsOfFile: file, encoding: .utf8)
        let child = try #require(Int32(written.dropLast()))
        // Gone, or a zombie that nobody has reaped yet; this can take a moment on a busy machine.
        #expect(
            await eventually {
                guard
                    let status = try? String(
                        contentsOfFile: "/proc/\(child)/stat",
                        encoding: .utf8
                    )
                else { return true }
                return status.contains(") Z ") || status.contains(") X ")
            }
        )
    }

    @Test func `run does not wait for a descendant that keeps the pipe open`() async throws {
        #expect(try await shell("sleep 600 & echo done").run() == Array("done\n".utf8))
    }

    @Test func `a canceled caller kills the program`() async throws {
        let waiting = Task { await failure(shell("sleep 600")) }
        waiting.cancel()
        #expect(await waiting.value == .cancelled)
    }
}
