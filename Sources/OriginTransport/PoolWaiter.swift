import EventIO

/// One request that waits for a connection of a full pool.
final class PoolWaiter: TimerEntry {
    enum Grant {
        case connection(UpstreamConnection)
        /// The right to open a connection.
        case slot
        case timedOut
        case cancelled
    }

    /// Whether only the right to open a connection helps.
    let wantsNew: Bool
    private var result: Grant?
    private var continuation: CheckedContinuation<Void, Never>?

    var isWaiting: Bool { result == nil }

    init(wantsNew: Bool) {
        self.wantsNew = wantsNew
        super.init()
    }

    func wait() async -> Grant {
        if result == nil { await withCheckedContinuation { continuation = $0 } }
        return result ?? .timedOut
    }

    func grant(_ connection: UpstreamConnection?) {
        finish(connection.map(Grant.connection) ?? .slot)
    }

    func cancel() { finish(.cancelled) }

    override func fire() { finish(.timedOut) }

    private func finish(_ grant: Grant) {
        guard result == nil else { return }
        result = grant
        continuation?.resume()
        continuation = nil
    }
}
