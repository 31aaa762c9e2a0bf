import Synchronization

/// Tells of a trouble that comes back many times a second: the first time, and once a minute while it
/// lasts.
final class SeldomReport: Sendable {
    private static let interval = Duration.seconds(60)

    private let report: Daemon.Report
    private let last = Mutex<ContinuousClock.Instant?>(nil)

    init(_ report: @escaping Daemon.Report) {
        self.report = report
    }

    /// Tells it, unless something was told within the minute; never waits for who reads the reports.
    func callAsFunction(_ line: @autoclosure () -> String) {
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
