import NetproxySystem

/// The program that `netproxy exec` runs in its own place.
package enum ForegroundProgram {
    /// How it ended.
    package enum Outcome: Sendable {
        /// With an exit code, or 128 and the signal that ended it.
        case ended(Int32)
        /// It could not be started: 127 if there is no such program, else 126, and why.
        case notStarted(Int32, String)
    }

    /// Runs the program and blocks the thread until it has ended; signals are sent on to it.
    package static func run(_ command: [String], environment: [String: String]) -> Outcome {
        do throws(ChildProcess.StartFailure) {
            return .ended(try ChildProcess.run(command, environment: environment))
        } catch {
            return .notStarted(error.exitCode, error.description)
        }
    }
}
