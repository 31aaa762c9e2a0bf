import ArgumentParser
import NetproxySystem

/// Messages for the user, separate from the output of a command.
///
/// A closed pipe does not end the process, in particular the daemon.
enum StandardError {
    private static let reports = LossyLines(.error) { "netproxy: \($0) messages were lost here" }

    /// Writes a line of the daemon without waiting for a slow reader.
    static func report(_ line: String) { reports.write(line) }

    static func write(_ line: String) {
        do { try StandardStream.error.write(line + "\n") } catch {}
    }

    /// Prints a reason and ends the command with an exit status.
    static func fail(_ reason: String, _ status: ExitCode = .failure) throws -> Never {
        write("netproxy: \(reason)")
        throw status
    }
}

/// The output of a command; each line is written immediately, also to a pipe.
enum StandardOutput {
    /// Writes lines.
    ///
    /// - Throws: exit status 1, after printing the reason on standard error, so that a script does not
    ///   mistake partial output for complete output.
    static func write(_ lines: String) throws {
        try write(bytes: Array((lines + "\n").utf8))
    }

    static func write(bytes: [UInt8]) throws {
        do {
            try StandardStream.output.write(bytes)
        } catch {
            // A reader that closed the pipe early (`| head`) is not an error to report.
            if !error.isReaderGone { StandardError.write("netproxy: standard output: \(error)") }
            throw ExitCode.failure
        }
    }

    /// Writes a line about progress; the work continues even if nobody reads the line.
    static func tell(_ line: String) {
        do { try StandardStream.output.write(line + "\n") } catch {}
    }
}

/// The exit codes of contract section 1.
enum ExitStatus {
    /// No daemon responds.
    static let unavailable = ExitCode(69)
    /// The configuration is invalid.
    static let configuration = ExitCode(78)
    /// The user pressed Ctrl-C, as in shells.
    static let interrupted = ExitCode(130)
}
