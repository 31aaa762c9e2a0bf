import CNetproxySystem
import Glibc

/// A running helper program and its pipes.
///
/// Not `Sendable`: it stays on the thread that waits for the program.
// SAFETY: the descriptors and the process ID belong to this object; each is released once.
@safe final class HelperProcess {
    /// The duration of the wait in `look()`, in milliseconds.
    ///
    /// No descriptor reports the end of a process here, so it is polled at this interval.
    private static let pace: Int32 = 10
    /// The maximum number of bytes kept from the end of standard error.
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
        // The pipe has room for all of the input, so the write cannot block or find a closed end.
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
            // A daemon ignores SIGPIPE and other signals; its helpers start with the defaults.
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

    /// Waits briefly for output or the program's end.
    ///
    /// - Returns: the end of the program, once its earlier output has been read.
    func look() -> ProcessEnd? {
        var polls: [pollfd] = []
        if isOutputOpen { polls.append(pollfd(fd: outputPipe, events: Int16(POLLIN), revents: 0)) }
        if isErrorOpen { polls.append(pollfd(fd: errorPipe, events: Int16(POLLIN), revents: 0)) }
        unsafe poll(&polls, nfds_t(polls.count), HelperProcess.pace)
        let end = reap()
        // Output from before the end is in the pipes by now. Do not wait for descendants that keep the pipes
        // open.
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
        // A process that ignores SIGCHLD gets no exit status, so the output decides.
        guard found == identifier || found == -1 && systemError() == ECHILD else { return nil }
        isReaped = true
        // The process ID is already free in that case.
        guard found == identifier else { return ProcessEnd(waitStatus: 0) }
        // Kill the remaining descendants too, as when the program itself is killed.
        _ = Glibc.kill(-identifier, SIGKILL)
        return ProcessEnd(waitStatus: status)
    }

    /// Reads the available bytes; returns whether more may follow.
    ///
    /// At most 16 reads: more than a pipe can contain, and a limit for a program that never stops printing.
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
