import FoundationEssentials
import Glibc
import NetproxyPath
import NetproxyRequestLog

/// Standard output as a terminal.
enum Terminal {
    /// Whether standard output is a terminal.
    static var isStandardOutput: Bool { isatty(STDOUT_FILENO) == 1 }

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
