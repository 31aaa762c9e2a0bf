import Glibc

/// A program that runs in the foreground while this one waits: same terminal, same process group.
package enum ChildProcess {
    /// A failure to start a program.
    package struct StartFailure: Error, Sendable, CustomStringConvertible {
        /// 127 if the program does not exist, else 126, as in shells.
        package let exitCode: Int32
        /// The reason.
        package let description: String
    }

    /// The signals that are passed on to the program, and SIGCHLD, which reports its end.
    private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD]
    /// Marks a signal that the program has received as well.
    private static let forAll: UInt8 = 0x80

    /// A pipe for signals from the handler, which may run on any thread, to `run`; `nil` if the
    /// system had no descriptors for it.
    private static let inbox: (reading: Int32, writing: Int32)? = {
        var ends: [Int32] = [-1, -1]
        // SAFETY: room for both ends.
        guard unsafe pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // A handler must not block.
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        return (ends[0], ends[1])
    }()

    /// Takes over the signals, and returns their previous actions.
    ///
    /// An ignored signal stays ignored until the program has started, which inherits that: `nohup`,
    /// and background jobs of scripts.
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

    /// The processes that a signal was sent to.
    enum Recipient {
        case process
        /// The process group, the program included.
        case group
    }

    /// Called by the signal handler: async-signal-safe calls only.
    static func held(_ signal: Int32, sentTo recipient: Recipient) {
        let before = errno
        var byte = UInt8(truncatingIfNeeded: signal) | (recipient == .group ? forAll : 0)
        // A full pipe holds thousands of signals already.
        if let inbox { _ = unsafe write(inbox.writing, &byte, 1) }
        errno = before
    }

    /// Runs a program and blocks the calling thread until it has ended; signals sent to this
    /// process are passed on.
    ///
    /// Those that the terminal sends (Ctrl-C) go to the whole group, the program included.
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
        // Made here, because a handler must not allocate.
        guard let inbox else {
            throw StartFailure(
                exitCode: 126,
                description: "cannot run \(arguments.first ?? ""): no descriptors left; "
                    + "the process should \(DescriptorLimit.advice)"
            )
        }
        // Before the program exists, so that its end is not missed.
        let before = holdSignals()
        defer { release(before) }
        let child = try start(arguments, environment)
        // The program may handle them all the same.
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
