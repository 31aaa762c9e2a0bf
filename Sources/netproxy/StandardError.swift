import ArgumentParser
import Foundation

/// Lines for people, beside the output of a command.
///
/// What cannot be written is lost: a full disk or a reader that went away is no reason for a daemon
/// to end. (`FileHandle.write(_:)` without `contentsOf` stops the process.)
enum StandardError {
    /// Writes a line; one that cannot be written is lost.
    ///
    /// Nobody is left to be told, and a service must not end with whoever read its messages.
    static func write(_ line: String) {
        try? FileHandle.standardError.write(contentsOf: Data((line + "\n").utf8))
    }
}

/// Lines of a command that runs for long: each is out at once, also into a pipe.
enum StandardOutput {
    /// Writes a line; one that cannot be written is lost.
    static func write(_ line: String) {
        try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))
    }

    /// Writes what a command was asked for.
    ///
    /// - Throws: an exit code if it cannot be written, which was told.
    static func write(_ bytes: [UInt8]) throws {
        guard !bytes.isEmpty else { return }
        do {
            try FileHandle.standardOutput.write(contentsOf: Data(bytes))
        } catch {
            let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError
            // Whoever closed the pipe knows.
            if cause?.code != Int(EPIPE) {
                let reason = (cause ?? error as NSError).localizedDescription
                StandardError.write("netproxy: standard output cannot be written: \(reason)")
            }
            throw ExitCode.failure
        }
    }
}
