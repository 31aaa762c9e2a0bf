import NetproxySystem

/// The program that `netproxy exec` runs in the foreground.
package enum ForegroundProgram {
    /// The outcome of running a program.
    package enum Outcome: Sendable {
        /// An exit code, or 128 plus the signal that ended the program.
        case ended(Int32)
        /// The exit code and the reason if the program could not be started: 127 if it does not exist,
        /// otherwise 126.
        case notStarted(Int32, String)
    }

    /// Runs the program, forwards signals to it and returns when it ends.
    ///
    /// A thread waits for it that no proxy in the same process needs.
    package static func run(_ command: [String], environment: [String: String]) async -> Outcome {
        do throws(ChildProcess.StartFailure) {
            return .ended(
                try await OffLoop.run { () throws(ChildProcess.StartFailure) in
                    try ChildProcess.run(command, environment: environment)
                }
            )
        } catch {
            return .notStarted(error.exitCode, error.description)
        }
    }
}
