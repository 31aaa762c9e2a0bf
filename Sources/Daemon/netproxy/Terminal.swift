import FoundationEssentials
import Glibc
import NetproxyPath
import NetproxyRequestLog
import NetproxySystem

/// Standard output as a terminal.
enum Terminal {
    /// Whether standard output is a terminal.
    static var isStandardOutput: Bool { isatty(STDOUT_FILENO) == 1 }

    /// The lines of standard input; none in the background, where reading the terminal stops the program.
    static var lines: AsyncStream<String> {
        AsyncStream { continuation in
            // -1 if standard input is no terminal, or not the one that controls the program.
            let owner = tcgetpgrp(STDIN_FILENO)
            guard owner == -1 || owner == getpgrp() else { return continuation.finish() }
            Task {
                await OffLoop.run {
                    while let line = readLine() { continuation.yield(line) }
                }
                continuation.finish()
            }
        }
    }

    /// The style of readable lines on standard output.
    static var style: HumanLine.Style {
        isStandardOutput ? .onTerminal(ProcessInfo.processInfo.environment) : .plain
    }

    /// The style of the daemon's lines.
    static var console: ConsoleStyle {
        switch style {
        case .plain: .plain
        case .coloured: .coloured
        }
    }
}
