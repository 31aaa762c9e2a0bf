package import NetproxySettings

/// The log of a channel, or of netproxy itself: its labels and the stream of its lines.
///
/// Shared by the event loops, each of which writes through its own `LogBuffer`.
package final class ChannelLog: Sendable {
    /// The labels common to all lines.
    package let labels: LogLabels
    /// The stream for the lines; several channels may share standard output.
    package let sink: LogSink
    /// The live log that also receives the lines, if there is one.
    package let feed: LogFeed?
    /// The format of the lines in the stream.
    package let format: LogFormat

    /// Creates a log that writes to a stream.
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

    /// Creates a log in `<directory>/<channel>.log`, or `netproxy.log` without a channel.
    ///
    /// The first line opens the file. If it is not writable, lines are lost and traffic continues.
    package convenience init(
        labels: LogLabels,
        directory: String,
        limits: RotatingFile.Limits = RotatingFile.Limits()
    ) {
        let name = labels.channel ?? LogLabels.ownLog
        let file = RotatingFile(
            path: LogDirectory.path(of: name, in: directory),
            limits: limits
        )
        self.init(labels: labels, sink: LogSink(labels: labels, to: file))
    }

    /// The numbers of lines written and lost.
    package var counters: LogSink.Counters { sink.counters }

    /// Reopens the file (SIGUSR1).
    package func reopen() { sink.reopen() }

    /// Writes an event without delay, for code that does not run on an event loop.
    package func write(_ event: EventRecord, now: ContinuousClock.Instant = .now) {
        let buffer = LogBuffer(self)
        buffer.write(event, now: now)
        buffer.flush(now: now)
        sink.writeSoon()
    }
}
