import NetproxyEventIO
import NetproxyHTTPMessage

/// One attempt to connect, and its place in the pool.
///
/// An attempt that takes longer than a second gives up its place, since the address is probably dead while
/// another one may respond: the name is resolved again for the next attempt. There are at most as many such
/// attempts as places.
///
/// Not `Sendable`: it belongs to a pool.
final class PoolDial: TimerEntry {
    private let pool: OriginPool
    private let sender: ObjectIdentifier?
    private let onSlow: () -> Void
    /// Whether the attempt has given up its place.
    private(set) var isSlow = false

    private static let patience = Duration.seconds(1)

    /// Begins an attempt that has a place in the pool; `onSlow` is called before it gives the place up.
    init(in pool: OriginPool, for sender: ObjectIdentifier?, onSlow: @escaping () -> Void = {}) {
        self.pool = pool
        self.sender = sender
        self.onSlow = onSlow
        super.init()
        pool.shares.beginDial(of: sender)
        pool.loop.schedule(self, at: pool.loop.deadline(after: PoolDial.patience))
    }

    override func fire() {
        guard pool.slowDials < pool.peer.options.connections else { return }
        isSlow = true
        Resolver.shared.forget(pool.peer.options.proxy?.host ?? pool.peer.origin.host)
        onSlow()
        pool.slowDials += 1
        pool.slotFreed()
    }

    /// Ends the attempt; a connection needs its place again.
    func succeed() {
        end()
        if isSlow { pool.open += 1 }
    }

    /// Ends the attempt, which leaves its place to another one.
    func fail() {
        end()
        if isSlow { pool.reportIfEmpty() } else { pool.slotFreed() }
    }

    private func end() {
        pool.loop.remove(self)
        pool.shares.endDial(of: sender)
        if isSlow { pool.slowDials -= 1 }
    }
}
