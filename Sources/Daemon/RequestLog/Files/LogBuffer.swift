package import NetproxyBytes

/// The lines of a channel that an event loop has not written yet.
///
/// It belongs to its loop and takes a lock only to flush: at 32 KiB, and whenever the loop asks for
/// it, so that no line is delayed for long.
package final class LogBuffer {
    /// The size in bytes at which a buffer flushes by itself.
    ///
    /// 32 KiB: about 60 lines in one system call. nginx's `access_log buffer=` is
    /// usually set to 32k or 64k.
    package static let flushSize = 32 * 1024

    /// The log that the lines go to.
    package let log: ChannelLog
    private let lines: OutputBuffer
    /// The buffer for encoding: the same as `lines`, unless the format is not JSON.
    private let json: OutputBuffer
    private let isTranscoding: Bool
    private var lineCount = 0
    private let encoder: LineEncoder
    private var lastTime = WallTime(seconds: 0)

    /// Creates an empty buffer.
    package init(_ log: ChannelLog) {
        self.log = log
        encoder = LineEncoder(labels: log.labels)
        lines = OutputBuffer(capacity: 4096)
        isTranscoding = log.format != .json
        json = isTranscoding ? OutputBuffer(capacity: 1024) : lines
    }

    deinit {
        // The channel is gone, and nothing else would flush the rest.
        guard !lines.isEmpty else { return }
        flush(now: .now)
        log.sink.writeSoon()
    }

    /// Adds the line of a finished exchange, and a copy of it to `recent`.
    package func write(
        _ record: ExchangeRecord,
        now: @autoclosure () -> ContinuousClock.Instant,
        keepingIn recent: LineRing? = nil
    ) {
        let (json, start) = (json, json.count)
        encoder.encode(record, to: json)
        recent?.append(json.span.extracting(start..<json.count))
        finishLine(from: start, at: record.time, now: now())
    }

    /// Adds the line of any other event.
    package func write(_ event: EventRecord, now: ContinuousClock.Instant) {
        let start = json.count
        encoder.encode(event, to: json)
        finishLine(from: start, at: event.time, now: now)
    }

    /// Hands the lines over to the stream; a loop that has flushed all its buffers then calls
    /// `writeSoon` of one of the streams.
    package func flush(now: ContinuousClock.Instant) {
        let (lines, time) = (lines, lastTime)
        log.sink.write(lines.span, count: lineCount, at: time, now: now)
        lines.removeAll()
        lineCount = 0
    }

    /// Passes on the line of JSON that begins at `start`.
    private func finishLine(
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
