package import NetproxyBytes
import NetproxySettings

/// The unwritten lines of a channel on one event loop.
///
/// A buffer belongs to its loop. It takes a lock only to flush, at 32 KiB and at the loop's request, so that
/// no line is delayed for long.
package final class LogBuffer {
    /// The size in bytes at which a buffer flushes itself.
    ///
    /// 32 KiB: about 60 lines in one system call. nginx's `access_log buffer=` is usually set to 32k or 64k.
    package static let flushSize = 32 * 1024

    /// The log that receives the lines.
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
        // The channel was removed, and nothing else would flush the remaining lines.
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

    /// Passes the lines to the stream.
    ///
    /// After flushing all its buffers, a loop calls `writeSoon` of one of the streams.
    package func flush(now: ContinuousClock.Instant) {
        let (lines, time) = (lines, lastTime)
        log.sink.write(lines.span, count: lineCount, at: time, now: now)
        lines.removeAll()
        lineCount = 0
    }

    /// Completes the line of JSON that begins at `start`.
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
