import Bytes

/// The lines of one channel that one event loop has not handed over yet.
///
/// It belongs to its loop and takes no lock until it flushes: by itself at 32 KiB, and from the
/// loop's `flushDue` at the latest 200 ms after its first line. The loop flushes it once more
/// before it ends.
package final class LogBuffer {
    /// The size at which a buffer flushes without being asked, in bytes.
    ///
    /// 32 KiB: some 60 lines, one system call for all of them. nginx's `access_log buffer=` is
    /// usually set to 32k or 64k.
    package static let flushSize = 32 * 1024
    /// How long a line waits at most.
    package static let flushDelay = Duration.milliseconds(200)

    /// The log that the lines go to.
    package let log: ChannelLog
    private let lines = OutputBuffer(capacity: 4096)
    private var lineCount = 0
    private var encoder: LineEncoder
    private var lastTime = WallTime(seconds: 0)

    /// When the lines must be handed over; nothing while there is none.
    package private(set) var flushDeadline: ContinuousClock.Instant?

    /// An empty buffer.
    package init(_ log: ChannelLog) {
        self.log = log
        encoder = LineEncoder(labels: log.labels)
    }

    /// Adds the line of an exchange that is over.
    package func write(_ record: ExchangeRecord, now: ContinuousClock.Instant) {
        encoder.encode(record, to: lines)
        added(at: record.time, now: now)
    }

    /// Adds the line of another event.
    package func write(_ event: EventRecord, now: ContinuousClock.Instant) {
        encoder.encode(event, to: lines)
        added(at: event.time, now: now)
    }

    /// Hands the lines over if the first of them has waited long enough.
    package func flushDue(now: ContinuousClock.Instant) {
        guard let flushDeadline, now >= flushDeadline else { return }
        flush(now: now)
    }

    /// Hands the lines over now.
    package func flush(now: ContinuousClock.Instant) {
        flushDeadline = nil
        let (lines, time) = (lines, lastTime)
        log.sink.write(lines.span, count: lineCount, at: time, now: now)
        lines.removeAll()
        lineCount = 0
    }

    private func added(at time: WallTime, now: ContinuousClock.Instant) {
        lastTime = max(lastTime, time)
        lineCount += 1
        if flushDeadline == nil { flushDeadline = now + Self.flushDelay }
        if lines.count >= Self.flushSize { flush(now: now) }
    }
}
