import Glibc

/// A program that runs in the foreground in the same terminal and process group while this process waits.
package enum ChildProcess {
    /// A failure to start a program.
    package struct StartFailure: Error, Sendable, CustomStringConvertible {
        /// The exit code: 127 if the program does not exist, otherwise 126, as in shells.
        package let exitCode: Int32
        /// The reason.
        package let description: String
    }

    /// The signals to forward to the program, and SIGCHLD, which reports its end.
    private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD]
    /// A flag for a signal that the program has also received.
    private static let forAll: UInt8 = 0x80

    /// A pipe for signals from the handler, which may run on any thread, to `run`.
    ///
    /// `nil` if the system had no descriptors for it.
    private static let inbox: (reading: Int32, writing: Int32)? = {
        var ends: [Int32] = [-1, -1]
        // SAFETY: the array has room for both ends.
        guard unsafe pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // A handler must not block.
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        return (ends[0], ends[1])
    }()

    /// Installs the handler for the signals, and returns their previous actions.
    ///
    /// An ignored signal stays ignored until the program has started, so that the program inherits it, as
    /// with `nohup` and background jobs of scripts.
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
        // SAFETY: SIG_IGN is the pointer 1, which is only compared, not called.
        unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }

    private static func release(_ before: [sigaction]) {
        for (signal, action) in zip(signals, before) {
            var action = action
            _ = unsafe sigaction(signal, &action, nil)
        }
    }

    /// The processes that received a signal.
    enum Recipient {
        case process
        /// The process group, including the program.
        case group
    }

    /// Called by the signal handler: async-signal-safe calls only.
    static func held(_ signal: Int32, sentTo recipient: Recipient) {
        let before = errno
        var byte = UInt8(truncatingIfNeeded: signal) | (recipient == .group ? forAll : 0)
        // A full pipe already contains thousands of signals.
        if let inbox { _ = unsafe write(inbox.writing, &byte, 1) }
        errno = before
    }

    /// Runs a program and blocks the calling thread until it ends; forwards signals to the program.
    ///
    /// Signals from the terminal (Ctrl-C) already reach the whole group, including the program.
    ///
    /// - Parameters:
    ///   - arguments: the program, found through `PATH`, and its arguments.
    ///   - environment: its complete environment.
    /// - Returns: the exit code, or 128 plus the number of the signal that ended the program.
    /// - Throws: `StartFailure`.
    package static func run(
        _ arguments: [String],
        environment: [String: String]
    ) throws(StartFailure) -> Int32 {
        // Create the pipe here, since a handler must not allocate.
        guard let inbox else {
            throw StartFailure(
                exitCode: 126,
                description: "cannot run \(arguments.first ?? ""): no descriptors left; "
                    + "the process should \(DescriptorLimit.advice)"
            )
        }
        // Install the handler before the program exists, so that its end is not missed.
        let before = holdSignals()
        defer { release(before) }
        let child = try start(arguments, environment)
        // The program may handle signals that it inherited as ignored.
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
