import ArgumentParser
import NetproxySystem

/// Messages for the user, beside the output of a command.
///
/// A reader that is gone ends nothing, least of all the daemon.
enum StandardError {
    private static let reports = LossyLines(.error) { "netproxy: \($0) messages were lost here" }

    /// Writes a line of the daemon, without waiting for a slow reader.
    static func report(_ line: String) { reports.write(line) }

    static func write(_ line: String) {
        do { try StandardStream.error.write(line + "\n") } catch {}
    }

    /// Ends a command with an exit status, after a line that says why.
    static func fail(_ reason: String, _ status: ExitCode = .failure) throws -> Never {
        write("netproxy: \(reason)")
        throw status
    }
}

/// The output of a command; each line is out at once, also into a pipe.
enum StandardOutput {
    /// Writes lines.
    ///
    /// - Throws: exit status 1, after the reason was printed on standard error: a script must not
    ///   take half an answer for a whole one.
    static func write(_ lines: String) throws {
        try write(bytes: Array((lines + "\n").utf8))
    }

    static func write(bytes: [UInt8]) throws {
        do {
            try StandardStream.output.write(bytes)
        } catch {
            // A reader that has seen enough (`| head`) is not an error to report.
            if !error.isReaderGone { StandardError.write("netproxy: standard output: \(error)") }
            throw ExitCode.failure
        }
    }

    /// Writes a line about progress; the work continues also if no one reads it.
    static func tell(_ line: String) {
        do { try StandardStream.output.write(line + "\n") } catch {}
    }
}

/// The exit codes of contract section 1.
enum ExitStatus {
    /// No daemon answers.
    static let unavailable = ExitCode(69)
    /// The configuration is wrong.
    static let configuration = ExitCode(78)
}
