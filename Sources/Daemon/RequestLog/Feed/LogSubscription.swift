import NetproxyBytes
import NetproxySystem
import NetworkCore
import Synchronization

/// A reader of the feed with a bounded buffer.
///
/// A reader that is too slow loses lines and receives a notice with their number. Any event loop adds lines;
/// a single task reads them.
package final class LogSubscription: Sendable {
    /// The size of the buffer in bytes; about 2000 lines.
    package static let bufferSize = 1 << 20

    private struct State {
        /// Lines from before the subscription, which are returned first.
        var earlier: [UInt8] = []
        var lines: [UInt8] = []
        var lost = 0
        var isFinished = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let channels: [String]
    private let filter: [WhereExpression]
    private let state = Mutex(State())

    init(channels: [String], filter: [WhereExpression]) {
        self.channels = channels
        self.filter = filter
    }

    func wants(_ channel: String?) -> Bool {
        channels.isEmpty || channels.contains(channel ?? LogLabels.ownLog)
    }

    /// Buffers a line for the reader, or counts it as lost.
    func add(_ line: Span<UInt8>) {
        let waiter = state.withLock { state in
            if state.lines.count + line.count > Self.bufferSize {
                state.lost += 1
            } else {
                state.lines.append(line)
            }
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Inserts lines from before the subscription at the front.
    ///
    /// - Parameters:
    ///   - earlier: whole lines, which need not satisfy the filter.
    ///   - known: lines, without newlines, to skip even if they were added since the subscription began.
    package func begin(with earlier: [UInt8], leavingOut known: Set<[UInt8]>) {
        let added = take()
        var kept: [UInt8] = []
        for piece in added.lines.split(separator: UInt8(ascii: "\n")) {
            let line = Array(piece)
            guard !known.contains(line) else { continue }
            kept += line
            kept.append(UInt8(ascii: "\n"))
        }
        let waiter = state.withLock { state in
            state.earlier = earlier + kept
            state.lost += added.lost
            return state.waiter.take()
        }
        waiter?.resume()
    }

    func finish() {
        let waiter = state.withLock { state in
            state.isFinished = true
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Waits for lines and returns all lines added since the last call.
    ///
    /// - Returns: at least one line, or nil if the subscription has ended or the task is canceled.
    package func next() async -> [UInt8]? {
        while !Task.isCancelled {
            let (lines, lost, isFinished) = take()
            var wanted = filter.isEmpty ? lines : await Self.filtered(lines, by: filter)
            if lost > 0 { wanted += Self.notice(of: lost) }
            if !wanted.isEmpty { return wanted }
            // An earlier call has returned the lines added before the end.
            if isFinished, lines.isEmpty { return nil }
            await wait()
        }
        return nil
    }

    private func take() -> (lines: [UInt8], lost: Int, isFinished: Bool) {
        state.withLock { state in
            defer { (state.earlier, state.lines, state.lost) = ([], [], 0) }
            let lines = state.earlier.isEmpty ? state.lines : state.earlier + state.lines
            return (lines, state.lost, state.isFinished)
        }
    }

    private func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    guard state.earlier.isEmpty, state.lines.isEmpty, state.lost == 0,
                        !state.isFinished, !Task.isCancelled
                    else { return true }
                    state.waiter = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiter.take() }?.resume()
        }
    }

    /// Filters lines off the event loop, because parsing a line costs more than writing one.
    private static func filtered(
        _ lines: [UInt8],
        by filter: [WhereExpression]
    ) async -> [UInt8] {
        await OffLoop.compute { matching(filter, among: lines) }
    }

    private static func matching(_ filter: [WhereExpression], among lines: [UInt8]) -> [UInt8] {
        var kept: [UInt8] = []
        for piece in lines.split(separator: UInt8(ascii: "\n")) {
            guard let line = LogLine(Array(piece)), filter.allSatisfy({ $0.matches(line) }) else {
                continue
            }
            kept += piece
            kept.append(UInt8(ascii: "\n"))
        }
        return kept
    }

    private static func notice(of lost: Int) -> [UInt8] {
        let output = OutputBuffer(capacity: 256)
        let encoder = LineEncoder(labels: LogLabels())
        encoder.encode(
            EventRecord(
                time: .now,
                level: .warning,
                event: .log,
                message: "lines were dropped",
                facts: [
                    (LogKey.dropped.name, .number(lost)),
                    (LogKey.reason.name, .text("the reader is too slow")),
                ]
            ),
            to: output
        )
        return output.span.array
    }
}
