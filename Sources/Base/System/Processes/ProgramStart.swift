import CNetproxySystem
import Glibc

/// A program to start with posix_spawn(3), so that none of our code runs in the new process.
struct ProgramStart {
    /// The signals that the program handles by default.
    enum DefaultSignals {
        case all
        /// Only SIGPIPE, which this process ignores; signals that its parent ignores stay ignored.
        case brokenPipe
    }

    /// The error number of a failed start.
    struct Failure: Error {
        let code: Int32
    }

    /// The program, found through `PATH` unless it is a path, and its arguments.
    var command: [String]
    /// Its complete environment.
    var environment: [String: String]
    /// Its standard input, output and error, without other descriptors; `nil` to inherit ours.
    var descriptors: [Int32]?
    /// Whether it leads its own process group.
    var leadsGroup = false
    var defaultSignals = DefaultSignals.brokenPipe

    /// Starts the program with no blocked signals.
    ///
    /// - Returns: its process ID.
    func start() throws(Failure) -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        if let descriptors {
            for (number, descriptor) in descriptors.enumerated() {
                unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
            }
            unsafe posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        }
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var reset = sigset_t()
        switch defaultSignals {
        case .all: unsafe sigfillset(&reset)
        case .brokenPipe:
            unsafe sigemptyset(&reset)
            unsafe sigaddset(&reset, SIGPIPE)
        }
        unsafe posix_spawnattr_setsigdefault(&attributes, &reset)
        // The thread may belong to a pool that blocks every signal, so the program could not be stopped.
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        var flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK
        if leadsGroup {
            unsafe posix_spawnattr_setpgroup(&attributes, 0)
            flags |= POSIX_SPAWN_SETPGROUP
        }
        unsafe posix_spawnattr_setflags(&attributes, Int16(flags))
        let settings = environment.map { "\($0.key)=\($0.value)" }
        // SAFETY: the copies are freed after the call that reads them.
        var arguments = unsafe command.map { unsafe strdup($0) } + [nil]
        var variables = unsafe settings.map { unsafe strdup($0) } + [nil]
        defer { unsafe (arguments + variables).forEach { unsafe free($0) } }
        var process: pid_t = 0
        let code = unsafe posix_spawnp(
            &process,
            command.first ?? "",
            &actions,
            &attributes,
            &arguments,
            &variables
        )
        guard code == 0 else { throw Failure(code: code) }
        return process
    }
}

/// The end of a process.
enum ProcessEnd {
    case status(Int32)
    case signal(Int32)

    /// Reads waitpid(2)'s status: the low 7 bits are the signal, the next byte is the exit code.
    init(waitStatus status: Int32) {
        let signal = status & 0x7F
        self = signal == 0 ? .status((status >> 8) & 0xFF) : .signal(signal)
    }
}
