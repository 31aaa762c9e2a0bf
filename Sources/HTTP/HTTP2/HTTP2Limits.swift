package import NetproxyHTTP1

/// The limits of one connection, including those of its messages.
package struct HTTP2Limits: Sendable {
    /// The limits of a head and a trailer section, the same as over HTTP/1.
    package var messages = HTTP1Limits()
    /// The maximum number of concurrent streams of the peer (SETTINGS_MAX_CONCURRENT_STREAMS).
    ///
    /// 128, like nginx and h2o.
    package var streams = 128
    /// The first window of a stream: the maximum number of its content bytes before the first read.
    ///
    /// 64 KiB, like nginx (`http2_body_preread_size`). The window grows while the content is read as fast as
    /// it arrives.
    package var window = 64 * 1024
    /// The maximum window of a stream whose content is read as fast as it arrives, in bytes.
    package var largestWindow = 4 * 1024 * 1024
    /// The maximum number of content bytes in transit on all streams together.
    package var connectionWindow = 8 * 1024 * 1024
    /// The maximum burst of useless frames: those that neither begin a message nor carry content.
    ///
    /// 1000, like nghttp2's own limit on resets (CVE-2023-44487), which this includes.
    package var idleFrames = 1000
    /// The number of additional useless frames that the peer may send per second.
    package var idleFrameRate = 100
    /// The maximum number of frames that continue one head (CVE-2024-27316 and related); 8, like nghttp2.
    package var continuations = 8

    package init() {}
}

/// The number of useless frames that a peer may still send, as a bucket.
///
/// The bucket fills with time and with each useful frame. Resets of newly opened streams, PING, SETTINGS,
/// PRIORITY, empty DATA and similar frames cost the sender almost nothing, and require work from the
/// receiver: CVE-2019-9512 to 9518, CVE-2023-44487.
struct FrameBudget: Sendable {
    private let capacity: UInt64
    /// The time in which the bucket gains one frame, in nanoseconds.
    private let interval: UInt64
    private var left: UInt64
    private var filled: UInt64 = 0

    init(capacity: Int, perSecond rate: Int) {
        self.capacity = UInt64(max(capacity, 1))
        interval = 1_000_000_000 / UInt64(max(rate, 1))
        left = self.capacity
    }

    /// Fills the bucket for the elapsed time.
    ///
    /// - Parameter now: the time in nanoseconds of any monotonic clock.
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

    /// Credits frames for a useful frame.
    mutating func earn(_ count: UInt64) { left = min(capacity, left + min(count, capacity)) }

    /// Removes a frame from the bucket; returns `false` if it is empty.
    mutating func spend() -> Bool {
        guard left > 0 else { return false }
        left -= 1
        return true
    }
}
