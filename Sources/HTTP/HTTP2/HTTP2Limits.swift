package import NetproxyHTTP1

/// What one connection may ask for, beside what a message may be.
package struct HTTP2Limits: Sendable {
    /// What a head and a trailer section may be: the same as over HTTP/1.
    package var messages = HTTP1Limits()
    /// How many streams the peer may have open at a time (SETTINGS_MAX_CONCURRENT_STREAMS).
    ///
    /// 128, like nginx and h2o.
    package var streams = 128
    /// How many bytes of content the peer may send on a stream before they are read.
    ///
    /// 256 KiB: what a fast connection needs within one round trip; a slow reader holds no more.
    package var window = 256 * 1024
    /// How far a stream's window grows while its content is read as fast as it comes.
    package var largestWindow = 4 * 1024 * 1024
    /// How many bytes of content the peer may send on all streams together before they have arrived here.
    package var connectionWindow = 16 * 1024 * 1024
    /// How many frames without use the peer may send at once: those that neither begin a message nor
    /// carry content.
    ///
    /// 1000, like nghttp2's own limit on resets (CVE-2023-44487), which this includes.
    package var idleFrames = 1000
    /// How many more of them it may send in each second.
    package var idleFrameRate = 100
    /// How many frames may continue one head (CVE-2024-27316 and its kin); 8, like nghttp2.
    package var continuations = 8

    package init() {}
}

/// How many frames without use a peer may still send: a bucket that fills with time, and with each frame
/// that is of use.
///
/// Resets of streams that were just opened, PING, SETTINGS, PRIORITY, empty DATA and the rest of their kind
/// cost the sender next to nothing and the receiver an answer: CVE-2019-9512 to 9518, CVE-2023-44487.
struct FrameBudget: Sendable {
    private let capacity: UInt64
    /// Nanoseconds for each.
    private let interval: UInt64
    private var left: UInt64
    private var filled: UInt64 = 0

    init(capacity: Int, perSecond rate: Int) {
        self.capacity = UInt64(max(capacity, 1))
        interval = 1_000_000_000 / UInt64(max(rate, 1))
        left = self.capacity
    }

    /// Fills the bucket with what time has brought.
    ///
    /// - Parameter now: nanoseconds on any clock that only goes forward.
    mutating func refill(now: UInt64) {
        let earned = now &- filled
        guard filled > 0, now > filled else {
            if filled == 0 { filled = max(now, 1) }
            return
        }
        let count = earned / interval
        guard count > 0 else { return }
        filled = filled &+ count &* interval
        earn(count)
    }

    /// A frame was of use.
    mutating func earn(_ count: UInt64) { left = min(capacity, left + min(count, capacity)) }

    /// Spends one; returns whether there was one.
    mutating func spend() -> Bool {
        guard left > 0 else { return false }
        left -= 1
        return true
    }
}
