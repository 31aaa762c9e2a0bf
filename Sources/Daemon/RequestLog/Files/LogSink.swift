import Glibc
import NetproxyBytes
package import NetproxySettings
package import NetproxySystem
import Synchronization

/// A stream of whole lines, shared by several event loops.
///
/// Callable from any thread. With a `LogWriter`, nothing here blocks: lines wait in memory for the writer's
/// thread. Without one, each call writes directly. Writing never fails for the caller: unwritable lines are
/// dropped and counted, and the next successful write begins with a line that states their number.
package final class LogSink: Sendable {
    /// The numbers of lines written and lost.
    package struct Counters: Sendable, Equatable {
        /// Lines written.
        package var written = 0
        /// Lines lost.
        package var dropped = 0
        /// The reason for the most recent loss.
        package var lastError: FileError?
    }

    /// The lines and orders that wait for the writer.
    fileprivate struct Queue {
        /// The flushed lines, one piece per flush; pieces are not joined, because that would copy them.
        var pieces: [(lines: [UInt8], count: Int)] = []
        /// Memory for the next pieces.
        ///
        /// It is the memory of the most recently written pieces, so that steady traffic allocates none and
        /// the memory of a burst is freed.
        var spare: [[UInt8]] = []
        /// The time of the last line.
        var time = WallTime(seconds: 0)
        var now: ContinuousClock.Instant?
        var orders: [@Sendable (inout LogStream) -> Void] = []
        /// Lines that did not fit since the writer's last pass.
        var refused = 0
        /// Whether the writer has this sink on its list.
        var isListed = false
        /// The counters of the stream after its last write.
        var counters = Counters()
        /// Lines that did not fit since the start.
        var allRefused = 0
        var isRefusing = false
    }

    /// The reason if lines do not fit into the queue.
    private static let slowDisk = FileError("the disk does not keep up", code: EAGAIN)

    /// The maximum number of pieces whose memory a sink keeps: 256 KiB.
    private static let spareLimit = 8

    private let queue = Mutex(Queue())
    /// Locked during disk I/O; with a writer, only by its thread.
    private let stream: Mutex<LogStream>
    private let writer: LogWriter?
    private let onLoss: (@Sendable (FileError) -> Void)?

    /// Creates a stream.
    ///
    /// - Parameters:
    ///   - labels: the labels of notices about lost lines.
    ///   - destination: the destination of the lines.
    ///   - format: the format of notices.
    ///   - writer: the thread that writes; without one, each caller writes.
    ///   - onLoss: called with the reason when lines begin to be lost, on the writing thread or the caller's;
    ///     it must not block.
    package init(
        labels: LogLabels,
        to destination: sending any LogDestination,
        format: LogFormat = .json,
        writer: LogWriter? = nil,
        onLoss: (@Sendable (FileError) -> Void)? = nil
    ) {
        self.writer = writer
        self.onLoss = onLoss
        stream = Mutex(LogStream(labels: labels, to: destination, format: format))
    }

    /// The numbers of lines written and lost so far; waiting lines count as neither.
    package var counters: Counters {
        queue.withLock { queue in
            var counters = queue.counters
            counters.dropped += queue.allRefused
            return counters
        }
    }

    /// Reopens the file (SIGUSR1).
    package func reopen() { order { $0.reopen() } }

    /// Closes the file now and after each later write.
    package func retire() { order { $0.retire() } }

    /// Reverses ``retire()``: the file stays open.
    package func revive() { order { $0.revive() } }

    /// Switches to another destination, which `make` creates on the writing thread.
    package func redirect(to make: @escaping @Sendable () -> any LogDestination) {
        order { $0.redirect(to: make()) }
    }

    /// Writes the rest of a cut line and the notice about lost lines, which otherwise wait for the next line.
    package func finish(at time: WallTime, now: ContinuousClock.Instant) {
        order { $0.finish(at: time, now: now) }
    }

    private func order(_ action: @escaping @Sendable (inout LogStream) -> Void) {
        let listing = queue.withLock { queue in
            queue.orders.append(action)
            return queue.list()
        }
        if notify(listing) { writer?.wake() }
    }

    /// Writes whole lines, or drops them.
    ///
    /// `count` is the number of lines; `time` is the time of a notice about lines lost earlier.
    package func write(
        _ lines: Span<UInt8>,
        count: Int,
        at time: WallTime,
        now: ContinuousClock.Instant
    ) {
        guard !lines.isEmpty else { return }
        guard writer?.reserve(lines.count) ?? true else { return refuse(count) }
        let listing = queue.withLock { queue in
            var piece = queue.spare.popLast() ?? []
            piece.append(lines)
            queue.pieces.append((piece, count))
            (queue.time, queue.now) = (max(queue.time, time), now)
            queue.isRefusing = false
            return queue.list()
        }
        if notify(listing) { writer?.wakeIfUrgent() }
    }

    private func refuse(_ count: Int) {
        let begins = queue.withLock { queue in
            queue.refused += count
            queue.allRefused += count
            queue.counters.lastError = LogSink.slowDisk
            defer { queue.isRefusing = true }
            return !queue.isRefusing
        }
        if begins { onLoss?(LogSink.slowDisk) }
    }

    /// Wakes the writer, which writes the lines of all sinks.
    package func writeSoon() { writer?.wake() }

    /// Adds the sink to the writer's list unless it is listed; without a running writer, writes immediately.
    ///
    /// - Returns: whether the writer will write.
    private func notify(_ listing: Queue.Listing) -> Bool {
        guard let writer, !writer.isEnding else {
            writeWaiting()
            return false
        }
        if listing == .new { writer.add(self) }
        return true
    }

    /// Writes the waiting lines, on the writer's thread or, without a writer, on the caller's.
    func writeWaiting() {
        let loss = stream.withLock { stream in
            // Empty the queue under the stream's lock: of two callers, the first to do so writes first.
            var taken = queue.withLock { $0.take() }
            for order in taken.orders { order(&stream) }
            let loss = taken.write(to: &stream)
            writer?.release(taken.pieces.reduce(0) { $0 + $1.lines.count })
            if taken.refused > 0 { stream.report(lost: taken.refused, for: LogSink.slowDisk) }
            let counters = stream.counters
            let spare = taken.emptied(atMost: LogSink.spareLimit)
            queue.withLock { $0.settle(counters, spare) }
            return loss
        }
        if let loss { onLoss?(loss) }
    }
}

extension LogSink.Queue {
    /// Whether a sink was already on the writer's list.
    fileprivate enum Listing {
        case new, present
    }

    /// Marks the sink as listed.
    fileprivate mutating func list() -> Listing {
        defer { isListed = true }
        return isListed ? .present : .new
    }

    /// Empties the queue and returns its contents.
    fileprivate mutating func take() -> LogSink.Queue {
        var taken = self
        taken.spare = []
        (pieces, orders, refused, isListed) = ([], [], 0, false)
        return taken
    }

    /// Writes the lines, and returns the reason if lines begin to be lost.
    fileprivate func write(to stream: inout LogStream) -> FileError? {
        var loss: FileError?
        for piece in pieces {
            let error = stream.write(
                piece.lines.span,
                count: piece.count,
                at: time,
                now: now ?? .now
            )
            loss = loss ?? error
        }
        return loss
    }

    /// Removes the pieces and returns their memory.
    fileprivate mutating func emptied(atMost limit: Int) -> [[UInt8]] {
        var spare: [[UInt8]] = []
        while spare.count < limit, var (lines, _) = pieces.popLast() {
            lines.removeAll(keepingCapacity: true)
            spare.append(lines)
        }
        return spare
    }

    /// Stores the counters of the stream, and memory for the next pieces.
    fileprivate mutating func settle(_ counters: LogSink.Counters, _ spare: [[UInt8]]) {
        self.spare = spare
        let error = counters.lastError ?? self.counters.lastError
        self.counters = counters
        self.counters.lastError = error
    }
}
