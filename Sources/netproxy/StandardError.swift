import Foundation

/// Lines for people, beside the output of a command.
enum StandardError {
    static func write(_ line: String) {
        FileHandle.standardError.write(Data((line + "\n").utf8))
    }
}

/// Lines of a command that runs for long: each is out at once, also into a pipe.
enum StandardOutput {
    static func write(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }
}
