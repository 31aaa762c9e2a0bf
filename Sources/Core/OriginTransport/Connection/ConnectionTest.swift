import NetproxyEventIO

/// The test of an HTTP/2 connection that may be dead although TCP acknowledges, as behind a stuck balancer.
///
/// A connection is tested if an exchange on it is given up after a silence, or if an active connection has
/// been silent for five minutes. It serves no new exchange until any byte arrives.
///
/// A test is a PING. Servers of gRPC end a connection after more than one PING in five minutes without data
/// (gRFC A8), so a connection is not tested more often: it serves no new exchange after the next silence.
struct ConnectionTest {
    /// The consequence of a doubt.
    enum Action {
        case none
        /// Send a PING.
        case ping
        /// Serve no more exchanges.
        case leave
    }

    /// The shortest silence that raises a doubt: 500 ms, in nanoseconds.
    static let shortestSilence: UInt64 = 500_000_000

    private let interval: UInt64
    /// The time of the last PING.
    private var pinged: UInt64?
    /// The time of the PING that nothing has followed yet.
    private(set) var doubted: UInt64?

    /// Creates the state of a new connection.
    ///
    /// - Parameter interval: the shortest time between two PINGs.
    init(interval: Duration) { self.interval = interval.nanoseconds }

    /// Whether the connection has to prove that it is alive.
    var isRunning: Bool { doubted != nil }

    /// Begins a test unless one is running.
    mutating func begin(at now: UInt64) -> Action {
        guard doubted == nil else { return .none }
        if let pinged, now &- pinged < interval { return .leave }
        pinged = now
        doubted = now
        return .ping
    }

    /// Begins a test after a silence, if it was long enough to mean something.
    mutating func begin(afterSilenceSince start: UInt64, at now: UInt64) -> Action {
        now &- start >= ConnectionTest.shortestSilence ? begin(at: now) : .none
    }

    /// Records a read; returns whether it ended the test.
    mutating func pass(readAt time: UInt64) -> Bool {
        guard let doubted, time >= doubted else { return false }
        self.doubted = nil
        return true
    }
}
