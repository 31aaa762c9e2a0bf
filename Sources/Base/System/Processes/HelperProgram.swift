import Synchronization

/// A program that runs once to produce output.
///
/// It runs without a shell, with no open file except the standard three, and in its own process group, which
/// is killed as a whole after the time limit.
package struct HelperProgram: Sendable {
    /// The reason for missing output; no case repeats the program's standard output.
    package enum Failure: Error, Sendable, Hashable, CustomStringConvertible {
        /// The program could not be started; contains the reason.
        case notStarted(String)
        /// The program did not end within the time limit.
        case timedOut(Duration)
        /// The program printed more bytes than permitted.
        case tooLong(Int)
        /// The program ended with a status other than 0; contains the last line of its standard error,
        /// cleaned.
        case failed(status: Int32, words: String?)
        /// A signal ended the program; contains the last line of its standard error, cleaned.
        case killed(signal: Int32, words: String?)
        /// The waiting task was canceled.
        case cancelled

        /// A clause to follow the program's name, with the last line of its standard error.
        ///
        /// That line is for the operator only: a program may print a secret there.
        package var description: String { outcome + (words.map { " (\($0))" } ?? "") }

        /// The last line of the program's standard error, cleaned.
        package var words: String? {
            switch self {
            case .failed(_, let words), .killed(_, let words): words
            case .notStarted, .timedOut, .tooLong, .cancelled: nil
            }
        }

        /// The clause without the line from standard error.
        package var outcome: String {
            switch self {
            case .notStarted(let reason): "cannot be run (\(reason))"
            case .timedOut(let limit): "did not finish within \(limit)"
            case .tooLong(let limit): "printed more than \(limit / 1024)KiB"
            case .failed(let status, _): "failed with status \(status)"
            case .killed(let signal, _): "was ended by signal \(signal)"
            case .cancelled: "was cancelled"
            }
        }
    }

    /// The maximum input in bytes, which the pipe accepts immediately (PIPE_BUF).
    package static let inputLimit = 4096

    /// The absolute path of the program, and its arguments.
    package var command: [String]
    /// Its complete environment.
    package var environment: [String: String]
    /// Its standard input; at most `inputLimit` bytes.
    package var input: [UInt8]
    /// The maximum duration.
    ///
    /// Default 10 s.
    package var timeLimit: Duration = .seconds(10)
    /// The maximum number of printed bytes.
    ///
    /// Default 64 KiB.
    package var outputLimit = 64 * 1024

    /// The variables that systemd sets for the daemon alone.
    private static let serviceVariables: Set<String> = [
        "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PID", "MAINPID", "NOTIFY_SOCKET", "WATCHDOG_PID",
        "WATCHDOG_USEC",
    ]

    /// Describes a program, without starting it.
    ///
    /// It inherits the environment of the daemon, so that it finds its password store or its server. The
    /// variables of the service manager are removed.
    package init(command: [String], environment: [String: String], input: [UInt8] = []) {
        self.command = command
        self.environment = environment.filter { !Self.serviceVariables.contains($0.key) }
        self.input = input
    }

    /// Runs the program and returns its standard output.
    ///
    /// A thread waits for the program and ends with it, so neither an event loop nor a thread of the executor
    /// blocks.
    ///
    /// - Throws: `Failure`.
    package func run() async throws(Failure) -> [UInt8] {
        let run = HelperRun(self)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                run.start { continuation.resume(returning: $0) }
            }
        } onCancel: {
            run.cancel()
        }
        return try result.get()
    }
}

/// One run, on its own thread.
final class HelperRun: Sendable {
    typealias Outcome = Result<[UInt8], HelperProgram.Failure>

    private let program: HelperProgram
    private let isCancelled = Atomic(false)
    private let answer = Mutex<(@Sendable (Outcome) -> Void)?>(nil)

    init(_ program: HelperProgram) {
        self.program = program
    }

    func start(_ answer: @escaping @Sendable (Outcome) -> Void) {
        self.answer.withLock { $0 = answer }
        let code = startThread(named: "helper") { self.finish(self.supervise()) }
        guard code != 0 else { return }
        finish(.failure(.notStarted("cannot start a thread: \(describe(errno: code))")))
    }

    func cancel() {
        isCancelled.store(true, ordering: .relaxed)
    }

    private func finish(_ outcome: Outcome) {
        answer.withLock { answer in
            defer { answer = nil }
            return answer
        }?(outcome)
    }

    private func supervise() -> Outcome {
        let process: HelperProcess
        do throws(HelperProgram.Failure) {
            process = try HelperProcess(program)
        } catch {
            return .failure(error)
        }
        let deadline = SuspendingClock.now + program.timeLimit
        while true {
            let end = process.look()
            guard process.output.count <= program.outputLimit else {
                process.kill()
                return .failure(.tooLong(program.outputLimit))
            }
            if let end { return HelperRun.outcome(end, of: process) }
            if isCancelled.load(ordering: .relaxed) {
                process.kill()
                return .failure(.cancelled)
            }
            if SuspendingClock.now >= deadline {
                process.kill()
                return .failure(.timedOut(program.timeLimit))
            }
        }
    }

    private static func outcome(_ end: ProcessEnd, of process: HelperProcess) -> Outcome {
        switch end {
        case .status(0): .success(process.output)
        case .status(let status): .failure(.failed(status: status, words: process.lastWords))
        case .signal(let signal): .failure(.killed(signal: signal, words: process.lastWords))
        }
    }
}
