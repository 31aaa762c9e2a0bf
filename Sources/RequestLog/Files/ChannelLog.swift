/// The log of one channel, or of netproxy itself: its labels and the stream its lines go to.
///
/// Shared by the loops; each takes a `LogBuffer` of its own to write with.
package final class ChannelLog: Sendable {
    /// What is the same in every line.
    package let labels: LogLabels
    /// Where the lines go; several channels may share standard output.
    package let sink: LogSink
    /// Who else gets the lines as they happen, if anybody can.
    package let feed: LogFeed?
    /// The form of its lines in the stream.
    package let format: LogFormat

    /// A log in a stream of lines.
    package init(
        labels: LogLabels,
        sink: LogSink,
        feed: LogFeed? = nil,
        format: LogFormat = .json
    ) {
        self.labels = labels
        self.sink = sink
        self.feed = feed
        self.format = format
    }

    /// A log in `<directory>/<channel>.log`, or `netproxy.log` without a channel.
    ///
    /// Nothing is opened yet: a file that cannot be written costs lines, never traffic.
    package convenience init(
        labels: LogLabels,
        directory: String,
        rotation: Rotation = Rotation()
    ) {
        let name = labels.channel ?? LogDirectory.ownLog
        let file = RotatingFile(
            path: LogDirectory.path(of: name, in: directory),
            rotation: rotation
        )
        self.init(labels: labels, sink: LogSink(labels: labels, to: file))
    }

    /// What became of the lines so far.
    package var counters: LogSink.Counters { sink.counters }

    /// Opens the file anew (SIGUSR1).
    package func reopen() { sink.reopen() }

    /// Writes one event at once; for code that belongs to no loop.
    package func write(_ event: EventRecord, now: ContinuousClock.Instant = .now) {
        let buffer = LogBuffer(self)
        buffer.write(event, now: now)
        buffer.flush(now: now)
    }
}
