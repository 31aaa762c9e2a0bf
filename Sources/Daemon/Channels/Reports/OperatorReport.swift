import Synchronization

/// Writes a line about the daemon itself to the terminal or the journal, for the operator.
package typealias OperatorReport = @Sendable (_ line: String) -> Void

/// Reports a problem that may occur many times per second.
///
/// It is reported at once, and then at most once per minute.
package final class RateLimitedReport: Sendable {
    private static let interval = Duration.seconds(60)

    private let report: OperatorReport
    private let last = Mutex<ContinuousClock.Instant?>(nil)

    package init(_ report: @escaping OperatorReport) {
        self.report = report
    }

    /// Reports the line unless one was reported within the last minute; never blocks on the reader.
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
