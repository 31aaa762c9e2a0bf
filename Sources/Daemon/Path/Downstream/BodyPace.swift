import NetproxyEventIO

/// The slowest pace at which an app may send the content of a request.
///
/// Only the time spent waiting for the app counts: a slow upstream is not the app's fault.
package struct BodyPace {
    /// How long netproxy waits for the app before the rate counts: 5 s, like Kestrel.
    static let grace = Duration.seconds(5)

    /// The slowest pace of a client, like Kestrel's.
    ///
    /// Apache's mod_reqtimeout demands 500 bytes a second. An honest client on the worst of links is faster, and a
    /// connection held open with less is an attack.
    package static let slowest = 240

    /// Content bytes in a second of waiting; `nil` accepts any pace.
    private let rate: Int?
    private var waited: UInt64 = 0

    init(rate: Int?) {
        self.rate = rate
    }

    /// Starts over, for another request.
    mutating func reset() { waited = 0 }

    /// The time by which the next bytes must arrive, after `bytes` of content.
    func deadline(after bytes: Int, now: UInt64) -> UInt64 {
        guard let rate else { return .max }
        let earned = UInt64(bytes).multipliedReportingOverflow(by: 1_000_000_000)
        // Above 18 GB the product overflows, and any pace will do.
        guard !earned.overflow else { return .max }
        let allowance = BodyPace.grace.nanoseconds &+ earned.partialValue / UInt64(rate)
        return now &+ (allowance > waited ? allowance - waited : 0)
    }

    /// Records a wait.
    mutating func waited(from start: UInt64, to end: UInt64) {
        waited &+= end &- start
    }
}
