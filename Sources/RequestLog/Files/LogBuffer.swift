package import Bytes

/// The lines of one channel that one event loop has not handed over yet.
///
/// It belongs to its loop and takes no lock until it flushes: by itself at 32 KiB, and when the loop
/// says so, which lets no line wait long.
package final class LogBuffer {
    /// The size at which a buffer flushes without being asked, in bytes.
    ///
    /// 32 KiB: some 60 lines, one system call for all of them. nginx's `access_log buffer=` is
    /// usually set to 32k or 64k.
    package static let flushSize = 32 * 1024

    /// The log that the lines go to.
    package let log: ChannelLog
    private let lines: OutputBuffer
    /// Where lines are encoded: the same buffer, unless they take another form.
    private let json: OutputBuffer
    private let isTranscoding: Bool
    private var lineCount = 0
    private let encoder: LineEncoder
    private var lastTime = WallTime(seconds: 0)

    /// An empty buffer.
    package init(_ log: ChannelLog) {
        self.log = log
        encoder = LineEncoder(labels: log.labels)
        lines = OutputBuffer(capacity: 4096)
        isTranscoding = log.format != .json
        json = isTranscoding ? OutputBuffer(capacity: 1024) : lines
    }

    deinit {
        // The channel is gone, and with it whoever would have asked for it.
        if !lines.isEmpty { flush(now: .now) }
    }

    /// Adds the line of an exchange that is over, and keeps a copy of it in `recent`.
    package func write(
        _ record: ExchangeRecord,
        now: @autoclosure () -> ContinuousClock.Instant,
        keepingIn recent: LineRing? = nil
    ) {
        let (json, start) = (json, json.count)
        encoder.encode(record, to: json)
        recent?.append(json.span.extracting(start..<json.count))
        added(from: start, at: record.time, now: now())
    }

    /// Adds the line of another event.
    package func write(_ event: EventRecord, now: ContinuousClock.Instant) {
        let start = json.count
        encoder.encode(event, to: json)
        added(from: start, at: event.time, now: now)
    }

    /// Hands the lines over now.
    package func flush(now: ContinuousClock.Instant) {
        let (lines, time) = (lines, lastTime)
        log.sink.write(lines.span, count: lineCount, at: time, now: now)
        lines.removeAll()
        lineCount = 0
    }

    /// Deals with the line of JSON that begins at `start`.
    private func added(
        from start: Int,
        at time: WallTime,
        now: @autoclosure () -> ContinuousClock.Instant
    ) {
        let (json, lines) = (json, lines)
        if let feed = log.feed, feed.isWatched {
            feed.offer(json.span.extracting(start..<json.count), of: log.labels.channel)
        }
        if isTranscoding {
            let end = lines.count
            log.format.append(json: json.span, to: lines)
            json.removeAll()
            guard lines.count > end else { return }
        }
        lastTime = max(lastTime, time)
        lineCount += 1
        if lines.count >= Self.flushSize { flush(now: now()) }
    }
}
