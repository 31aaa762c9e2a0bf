import NetproxyEventIO

/// The slowest pace at which a client may send the content of a request.
///
/// Only the time spent waiting for the client counts, so a slow upstream does not break the pace.
package struct BodyPace {
    /// The time that netproxy waits for the client before the rate counts: 5 s, like Kestrel.
    static let grace = Duration.seconds(5)

    /// The slowest pace of a client in bytes a second, like Kestrel's.
    ///
    /// Apache's mod_reqtimeout requires 500 bytes a second. An honest client on the worst of links is
    /// faster than 240, and a connection held open with less is an attack.
    package static let slowest = 240

    /// The content bytes per second of waiting; `nil` accepts any pace.
    private let rate: Int?
    private var waited: UInt64 = 0

    init(rate: Int?) {
        self.rate = rate
    }

    /// Starts over for another request.
    mutating func reset() { waited = 0 }

    /// Returns the time by which the next bytes must arrive, after `bytes` of content.
    func deadline(after bytes: Int, now: UInt64) -> UInt64 {
        guard let rate else { return .max }
        let earned = UInt64(bytes).multipliedReportingOverflow(by: 1_000_000_000)
        // Above 18 GB the product overflows, and any pace is acceptable.
        guard !earned.overflow else { return .max }
        let allowance = BodyPace.grace.nanoseconds &+ earned.partialValue / UInt64(rate)
        return now &+ (allowance > waited ? allowance - waited : 0)
    }

    /// Records a wait.
    mutating func waited(from start: UInt64, to end: UInt64) {
        waited &+= end &- start
    }
}
