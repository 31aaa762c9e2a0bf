import Synchronization

/// Writes a line about the daemon itself for its operator: to the terminal or the journal.
package typealias OperatorReport = @Sendable (_ line: String) -> Void

/// Reports a problem that may occur many times a second: the first time, then once a minute while it
/// lasts.
package final class RateLimitedReport: Sendable {
    private static let interval = Duration.seconds(60)

    private let report: OperatorReport
    private let last = Mutex<ContinuousClock.Instant?>(nil)

    package init(_ report: @escaping OperatorReport) {
        self.report = report
    }

    /// Reports the line unless one was reported within the last minute; never waits for the reader.
    package func callAsFunction(_ line: @autoclosure () -> String) {
        let isDue = last.withLock { last in
            let now = ContinuousClock.now
            if let last, now - last < Self.interval { return false }
            last = now
            return true
        }
        guard isDue else { return }
        let (report, line) = (report, line())
        Task { report(line) }
    }
}
