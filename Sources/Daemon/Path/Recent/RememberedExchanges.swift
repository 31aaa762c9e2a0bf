package import NetproxyRequestLog
import NetproxySystem
import NetworkCore

/// The log lines of the exchanges that all loops remember.
package struct RememberedExchanges: Sendable {
    /// The lines without their newlines.
    package let known: Set<[UInt8]>
    /// The parseable lines, in the order in which their exchanges ended.
    private let lines: [LogLine]

    /// Reads lines, which may contain duplicates.
    ///
    /// It does not run on an event loop, which a thousand lines would block.
    package init(_ bytes: [UInt8]) async {
        (known, lines) = await OffLoop.compute {
            let known = Set(bytes.split(separator: UInt8(ascii: "\n")).map(Array.init))
            let lines = known.compactMap { LogLine($0) }
                .map { (end: $0.end, line: $0) }
                .sorted { ($0.end, $0.line.raw) < ($1.end, $1.line.raw) }
                .map(\.line)
            return (known, lines)
        }
    }

    /// Returns the last lines that satisfy a condition.
    package func last(_ count: Int, where isWanted: (LogLine) -> Bool) -> [LogLine] {
        lines.filter(isWanted).suffix(count)
    }
}
