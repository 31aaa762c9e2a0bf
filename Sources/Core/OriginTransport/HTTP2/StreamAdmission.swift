/// The number of concurrent exchanges on a connection, as a value without I/O.
///
/// A new connection carries one exchange until the SETTINGS of the origin have arrived, so that no request
/// exceeds a limit that is not known yet. Each refusal lowers the number to the exchanges that the origin
/// still serves, and each complete response raises it again, up to the limit in the SETTINGS: some origins
/// serve less than they announce.
struct StreamAdmission {
    /// With more streams than this, another connection performs better.
    private static let largest = 1000

    /// The number of exchanges that the connection admits.
    private(set) var count = 1
    private var announced: Int?

    /// Whether the SETTINGS of the origin have not arrived yet.
    var isAwaitingSettings: Bool { announced == nil }

    /// Records the limit in the SETTINGS, or the assumed limit if none arrive.
    mutating func settle(_ limit: Int) {
        let limit = min(limit, StreamAdmission.largest)
        announced = limit
        count = limit
    }

    /// Records a refused request while the origin serves a number of others.
    mutating func refused(serving others: Int) { count = min(count, max(1, others)) }

    /// Records a complete response.
    mutating func completed() {
        if let announced, count < announced { count += 1 }
    }
}
