import CLibevent
import Glibc

/// A running helper program and the pipes to it.
///
/// Not `Sendable`: it lives on the thread that waits for it.
// SAFETY: the descriptors and the process number are this object's own; each is given back once.
@safe final class HelperProcess {
    /// How the program ended.
    enum End {
        case status(Int32)
        case signal(Int32)
    }

    /// How long one look waits for something to happen, in milliseconds.
    ///
    /// The end of a process shows on no descriptor here, so it is asked for at this pace.
    private static let pace: Int32 = 10
    /// How much of standard error is kept: its end.
    private static let errorLimit = 4096

    private let identifier: pid_t
    private let outputPipe: Int32
    private let errorPipe: Int32
    private var isOutputOpen = true
    private var isErrorOpen = true
    private var isReaped = false
    private(set) var output: [UInt8] = []
    private var errors: [UInt8] = []

    /// Starts the program as the leader of a process group of its own.
    init(_ program: HelperProgram) throws(IOError) {
        precondition(program.input.count <= HelperProgram.inputLimit, "the input fits into a pipe")
        guard let path = program.command.first, path.hasPrefix("/") else {
            throw .system("a helper needs an absolute path")
        }
        let input = try Pipe()
        // Nobody reads yet, but the pipe holds it all: no write can block or meet a closed end.
        let written = unsafe program.input.withUnsafeBytes {
            unsafe write(input.write, $0.baseAddress, $0.count)
        }
        input.closeWriteEnd()
        defer { input.closeReadEnd() }
        guard written == program.input.count else { throw .system("its input cannot be written") }
        let output = try Pipe()
        defer { output.closeWriteEnd() }
        let errors: Pipe
        do throws(IOError) {
            errors = try Pipe()
        } catch {
            output.closeReadEnd()
            throw error
        }
        defer { errors.closeWriteEnd() }
        do throws(IOError) {
            identifier = try HelperProcess.spawn(
                path,
                program,
                [input.read, output.write, errors.write]
            )
        } catch {
            output.closeReadEnd()
            errors.closeReadEnd()
            throw error
        }
        outputPipe = output.read
        errorPipe = errors.read
        for pipe in [outputPipe, errorPipe] { _ = fcntl(pipe, F_SETFL, O_NONBLOCK) }
    }

    deinit {
        close(outputPipe)
        close(errorPipe)
    }

    /// Waits a moment for output or the end.
    ///
    /// - Returns: how it ended, once it has and all it printed before is read.
    func look() -> End? {
        var polls: [pollfd] = []
        if isOutputOpen { polls.append(pollfd(fd: outputPipe, events: Int16(POLLIN), revents: 0)) }
        if isErrorOpen { polls.append(pollfd(fd: errorPipe, events: Int16(POLLIN), revents: 0)) }
        unsafe poll(&polls, nfds_t(polls.count), HelperProcess.pace)
        let end = reap()
        // What it printed before its end is in the pipes by now. A descendant that still holds
        // them open is not waited for.
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

    private func reap() -> End? {
        var status: Int32 = 0
        guard unsafe waitpid(identifier, &status, WNOHANG) == identifier else { return nil }
        isReaped = true
        // Descendants it left behind go with it, as those of a program that is killed do.
        _ = Glibc.kill(-identifier, SIGKILL)
        let signal = status & 0x7F
        return signal == 0 ? .status((status >> 8) & 0xFF) : .signal(signal)
    }

    /// Reads what is there; returns whether more may come.
    ///
    /// 16 reads at most: more than a pipe holds, and an end with a program that prints for ever.
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

    private static func spawn(
        _ path: String,
        _ program: HelperProgram,
        _ descriptors: [Int32]
    ) throws(IOError) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        for (number, descriptor) in descriptors.enumerated() {
            unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
        }
        unsafe posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        // A daemon ignores SIGPIPE and may block signals; its helpers begin as usual.
        var all = sigset_t()
        unsafe sigfillset(&all)
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setpgroup(&attributes, 0)
        unsafe posix_spawnattr_setflags(
            &attributes,
            Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK)
        )
        let environment = program.environment.map { "\($0.key)=\($0.value)" }
        var arguments = unsafe program.command.map { unsafe strdup($0) } + [nil]
        var variables = unsafe environment.map { unsafe strdup($0) } + [nil]
        defer { unsafe (arguments + variables).forEach { unsafe free($0) } }
        var identifier: pid_t = 0
        let code = unsafe posix_spawn(
            &identifier,
            path,
            &actions,
            &attributes,
            &arguments,
            &variables
        )
        guard code == 0 else { throw .system(describe(errno: code)) }
        return identifier
    }

    /// Both ends of a pipe that no other program inherits.
    private struct Pipe {
        let read: Int32
        let write: Int32

        init() throws(IOError) {
            var ends: [Int32] = [0, 0]
            guard unsafe pipe2(&ends, O_CLOEXEC) == 0 else {
                throw .system(describe(errno: systemError()))
            }
            read = ends[0]
            write = ends[1]
        }

        func closeReadEnd() { close(read) }
        func closeWriteEnd() { close(write) }
    }
}
