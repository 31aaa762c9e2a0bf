import Foundation

/// Lines for people, beside the output of a command.
enum StandardError {
    /// Writes a line; one that cannot be written is lost.
    ///
    /// Nobody is left to be told, and a service must not end with whoever read its messages.
    static func write(_ line: String) {
        _ = try? FileHandle.standardError.write(contentsOf: Data((line + "\n").utf8))
    }
}

/// Lines of a command that runs for long: each is out at once, also into a pipe.
enum StandardOutput {
    static func write(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}
