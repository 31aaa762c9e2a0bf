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

    /// Runs the program, forwards signals to it and blocks the thread until it ends.
    package static func run(_ command: [String], environment: [String: String]) -> Outcome {
        do throws(ChildProcess.StartFailure) {
            return .ended(try ChildProcess.run(command, environment: environment))
        } catch {
            return .notStarted(error.exitCode, error.description)
        }
    }
}
