import EventIO

/// How slowly an app may send the content of a request.
///
/// Only the time that we wait for the app counts: an upstream that takes its time is not the app's
/// fault.
struct BodyPace {
    /// How long the app may keep us waiting before the rate counts: 5 s, like Kestrel.
    static let grace = Duration.seconds(5)

    /// Content bytes in a second of waiting; nothing where any pace will do.
    private let rate: Int?
    private var waited: UInt64 = 0

    init(rate: Int?) {
        self.rate = rate
    }

    /// Another request begins.
    mutating func reset() { waited = 0 }

    /// Until when the next bytes must come, after `bytes` of content.
    func deadline(after bytes: Int, now: UInt64) -> UInt64 {
        guard let rate else { return .max }
        let earned = UInt64(bytes).multipliedReportingOverflow(by: 1_000_000_000)
        // Whoever sent 18 GB has earned a lifetime.
        guard !earned.overflow else { return .max }
        let allowance = BodyPace.grace.nanoseconds &+ earned.partialValue / UInt64(rate)
        return now &+ (allowance > waited ? allowance - waited : 0)
    }

    /// Takes note of a wait.
    mutating func waited(from start: UInt64, to end: UInt64) {
        waited &+= end &- start
    }
}
