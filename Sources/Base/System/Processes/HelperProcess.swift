import CNetproxySystem
import Glibc

/// A running helper program and the pipes to it.
///
/// Not `Sendable`: it lives on the thread that waits for it.
// SAFETY: the descriptors and the process ID belong to this object; each is released once.
@safe final class HelperProcess {
    /// The duration of the wait in `look()`, in milliseconds.
    ///
    /// No descriptor shows the end of a process here, so it is polled at this pace.
    private static let pace: Int32 = 10
    /// The size of the kept end of standard error, in bytes.
    private static let errorLimit = 4096

    private let identifier: pid_t
    private let outputPipe: Int32
    private let errorPipe: Int32
    private var isOutputOpen = true
    private var isErrorOpen = true
    private var isReaped = false
    private(set) var output: [UInt8] = []
    private var errors: [UInt8] = []

    /// Starts the program as the leader of its own process group.
    init(_ program: HelperProgram) throws(HelperProgram.Failure) {
        precondition(program.input.count <= HelperProgram.inputLimit, "the input fits into a pipe")
        guard program.command.first?.hasPrefix("/") == true else {
            throw .notStarted("a helper needs an absolute path")
        }
        let input = try Pipe()
        // The pipe holds it all, so the write cannot block or meet a closed end.
        let written = unsafe program.input.withUnsafeBytes {
            unsafe write(input.write, $0.baseAddress, $0.count)
        }
        input.closeWriteEnd()
        defer { input.closeReadEnd() }
        guard written == program.input.count else {
            throw .notStarted("cannot write its input")
        }
        let output = try Pipe()
        defer { output.closeWriteEnd() }
        let errors: Pipe
        do throws(HelperProgram.Failure) {
            errors = try Pipe()
        } catch {
            output.closeReadEnd()
            throw error
        }
        defer { errors.closeWriteEnd() }
        let start = ProgramStart(
            command: program.command,
            environment: program.environment,
            descriptors: [input.read, output.write, errors.write],
            leadsGroup: true,
            // A daemon ignores SIGPIPE and more; its helpers start with the defaults.
            defaultSignals: .all
        )
        do throws(ProgramStart.Failure) {
            identifier = try start.start()
        } catch {
            output.closeReadEnd()
            errors.closeReadEnd()
            throw .notStarted(describe(errno: error.code))
        }
        outputPipe = output.read
        errorPipe = errors.read
        for pipe in [outputPipe, errorPipe] { _ = fcntl(pipe, F_SETFL, O_NONBLOCK) }
    }

    deinit {
        close(outputPipe)
        close(errorPipe)
    }

    /// Waits a moment for output or the program's end.
    ///
    /// - Returns: how it ended, once everything it printed before is read.
    func look() -> ProcessEnd? {
        var polls: [pollfd] = []
        if isOutputOpen { polls.append(pollfd(fd: outputPipe, events: Int16(POLLIN), revents: 0)) }
        if isErrorOpen { polls.append(pollfd(fd: errorPipe, events: Int16(POLLIN), revents: 0)) }
        unsafe poll(&polls, nfds_t(polls.count), HelperProcess.pace)
        let end = reap()
        // What it printed before its end is in the pipes by now; descendants that hold them open
        // are not waited for.
        isOutputOpen = isOutputOpen && drain(outputPipe, into: &output, keepingAtMost: nil)
        isErrorOpen =
            isErrorOpen && drain(errorPipe, into: &errors, keepingAtMost: Self.errorLimit)
        return end
    }

    /// Kills the whole process group, and waits for the program's end.
    func kill() {
        guard !isReaped else { return }
        _ = Glibc.kill(-identifier, SIGKILL)
        var status: Int32 = 0
        while unsafe waitpid(identifier, &status, 0) == -1, systemError() == EINTR {}
        isReaped = true
    }

    /// The last line of standard error: printable, at most 200 characters.
    var lastWords: String? {
        let text = String(decoding: errors, as: UTF8.self)
        let lines = text.split(whereSeparator: \.isNewline).map { line in
            String(
                line.unicodeScalars.map { scalar in
                    scalar.properties.generalCategory == .control
                        || scalar.properties.generalCategory == .format
                        ? " " : Character(scalar)
                }
            )
        }
        guard let last = lines.last(where: { !$0.allSatisfy(\.isWhitespace) }) else { return nil }
        return last.count > 200 ? last.prefix(200) + "…" : last
    }

    private func reap() -> ProcessEnd? {
        var status: Int32 = 0
        let found = unsafe waitpid(identifier, &status, WNOHANG)
        // A process that ignores SIGCHLD learns that it ended, but not how: its output decides.
        guard found == identifier || found == -1 && systemError() == ECHILD else { return nil }
        isReaped = true
        // Its process ID is free by then.
        guard found == identifier else { return ProcessEnd(waitStatus: 0) }
        // Its remaining descendants go too, as they do when the program is killed.
        _ = Glibc.kill(-identifier, SIGKILL)
        return ProcessEnd(waitStatus: status)
    }

    /// Reads the available bytes; returns whether more may come.
    ///
    /// At most 16 reads: more than a pipe holds, and a bound for a program that never stops
    /// printing.
    private func drain(
        _ descriptor: Int32,
        into bytes: inout [UInt8],
        keepingAtMost limit: Int?
    ) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 16 * 1024)
        for _ in 0..<16 {
            let count = unsafe buffer.withUnsafeMutableBytes {
                unsafe read(descriptor, $0.baseAddress, $0.count)
            }
            if count == 0 { return false }
            guard count > 0 else { return true }
            bytes += buffer[..<count]
            if let limit, bytes.count > limit { bytes.removeFirst(bytes.count - limit) }
        }
        return true
    }

    /// Both ends of a pipe that no other program inherits.
    private struct Pipe {
        let read: Int32
        let write: Int32

        init() throws(HelperProgram.Failure) {
            var ends: [Int32] = [0, 0]
            guard unsafe pipe2(&ends, O_CLOEXEC) == 0 else {
                throw .notStarted(describe(errno: systemError()))
            }
            read = ends[0]
            write = ends[1]
        }

        func closeReadEnd() { close(read) }
        func closeWriteEnd() { close(write) }
    }
}
