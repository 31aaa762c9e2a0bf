import FoundationEssentials
import Glibc
import ProxyDaemon
import RequestLog

/// Whether a person reads along, and how.
enum Terminal {
    /// Whether standard output is a terminal.
    static var isStandardOutput: Bool { isatty(STDOUT_FILENO) == 1 }

    /// How a line for people is written to standard output.
    static var style: HumanLine.Style {
        isStandardOutput ? .onTerminal(ProcessInfo.processInfo.environment) : .plain
    }

    /// The same, of the lines that the daemon writes there.
    static var console: ConsoleStyle {
        switch style {
        case .plain: .plain
        case .coloured: .coloured
        }
    }
}
