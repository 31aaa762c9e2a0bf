import Glibc

/// A program that runs in the foreground in place of this one: same terminal, same process group.
package enum ChildProcess {
    /// Why a program could not be started.
    package struct StartFailure: Error, Sendable, CustomStringConvertible {
        /// 127 if there is no such program, else 126, as shells have it.
        package let exitCode: Int32
        /// What is wrong.
        package let description: String
    }

    /// What is handed on to the program, or waited for.
    private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD]
    /// Marks a signal that the program got by itself.
    private static let forAll: UInt8 = 0x80

    /// Signals on their way from the handler, which may run on any thread, to `run`; nothing where the
    /// system had no descriptors for it.
    private static let inbox: (reading: Int32, writing: Int32)? = {
        var ends: [Int32] = [-1, -1]
        // SAFETY: room for both ends.
        guard unsafe pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // A handler must not wait either.
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        return (ends[0], ends[1])
    }()

    /// Takes the signals over, and returns what became of them before.
    ///
    /// What is ignored stays so until the program is there, which inherits that: `nohup`, and
    /// background jobs of scripts.
    private static func holdSignals() -> [sigaction] {
        signals.map { signal in
            var before = hold(signal)
            if signal != SIGCHLD, isIgnored(before) { _ = unsafe sigaction(signal, &before, nil) }
            return before
        }
    }

    private static func hold(_ signal: Int32) -> sigaction {
        var action = sigaction()
        var before = sigaction()
        unsafe action.__sigaction_handler.sa_sigaction = heldSignalArrived
        action.sa_flags = SA_SIGINFO | SA_RESTART
        _ = unsafe sigaction(signal, &action, &before)
        return before
    }

    private static func isIgnored(_ action: sigaction) -> Bool {
        // SAFETY: SIG_IGN is the pointer 1, which is compared and not called.
        unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }

    private static func release(_ before: [sigaction]) {
        for (signal, action) in zip(signals, before) {
            var action = action
            _ = unsafe sigaction(signal, &action, nil)
        }
    }

    /// Called by the signal handler: only what is safe there.
    static func held(_ signal: Int32, isForAll: Bool) {
        let before = errno
        var byte = UInt8(truncatingIfNeeded: signal) | (isForAll ? forAll : 0)
        // A full pipe holds thousands of signals already.
        if let inbox { _ = unsafe write(inbox.writing, &byte, 1) }
        errno = before
    }

    /// Starts a program and blocks the calling thread until it has ended; signals that somebody
    /// sends to this process meanwhile are sent on.
    ///
    /// What the terminal sends (Ctrl-C), it sends to the whole group, the program included.
    ///
    /// - Parameters:
    ///   - arguments: the program, looked up in `PATH`, and its arguments.
    ///   - environment: its whole environment.
    /// - Returns: its exit code, or 128 and the signal that ended it.
    /// - Throws: `StartFailure`.
    package static func run(
        _ arguments: [String],
        environment: [String: String]
    ) throws(StartFailure) -> Int32 {
        // Made here, because a handler must not make anything.
        guard let inbox else {
            throw StartFailure(
                exitCode: 126,
                description: "cannot run \(arguments.first ?? ""): there are no descriptors left; "
                    + "the process should \(DescriptorLimit.advice)"
            )
        }
        // Before the program exists, so that its end is not missed.
        let before = holdSignals()
        defer { release(before) }
        let child = try start(arguments, environment)
        // The program may listen to them all the same.
        for (signal, action) in zip(signals, before) where isIgnored(action) { _ = hold(signal) }
        while true {
            var status: Int32 = 0
            if unsafe waitpid(child, &status, WNOHANG) == child {
                return switch ProcessEnd(waitStatus: status) {
                case .status(let code): code
                case .signal(let signal): 128 + signal
                }
            }
            var byte: UInt8 = 0
            guard unsafe read(inbox.reading, &byte, 1) == 1 else { continue }
            let signal = Int32(byte & ~forAll)
            if signal != SIGCHLD, byte & forAll == 0 { _ = kill(child, signal) }
        }
    }

    private static func start(
        _ arguments: [String],
        _ environment: [String: String]
    ) throws(StartFailure) -> pid_t {
        do throws(ProgramStart.Failure) {
            return try ProgramStart(command: arguments, environment: environment).start()
        } catch {
            throw StartFailure(
                exitCode: error.code == ENOENT ? 127 : 126,
                description: "cannot run \(arguments.first ?? ""): \(describe(errno: error.code))"
            )
        }
    }
}
