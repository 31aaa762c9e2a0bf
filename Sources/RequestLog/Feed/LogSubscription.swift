import Bytes
import Synchronization

/// One reader of the feed, with a buffer that is bounded: who reads too slowly loses lines and is
/// told how many.
///
/// Lines are added from any loop; one task reads.
package final class LogSubscription: Sendable {
    /// How much waits for the reader at most, in bytes: some 2000 lines.
    package static let bufferSize = 1 << 20

    private struct State {
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
        channels.isEmpty || channels.contains(channel ?? LogDirectory.ownLog)
    }

    /// Keeps a line for the reader, or counts it as lost.
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

    func finish() {
        let waiter = state.withLock { state in
            state.isFinished = true
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// The lines that came since the last call, at least one; nothing once it is over, or the task
    /// was cancelled.
    package func next() async -> [UInt8]? {
        while !Task.isCancelled {
            let (lines, lost, isFinished) = take()
            var wanted = filter.isEmpty ? lines : await Self.filtered(lines, by: filter)
            if lost > 0 { wanted += Self.notice(of: lost) }
            if !wanted.isEmpty { return wanted }
            // What came before the end was read in an earlier round.
            if isFinished, lines.isEmpty { return nil }
            await wait()
        }
        return nil
    }

    private func take() -> (lines: [UInt8], lost: Int, isFinished: Bool) {
        state.withLock { state in
            defer { (state.lines, state.lost) = ([], 0) }
            return (state.lines, state.lost, state.isFinished)
        }
    }

    private func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    guard state.lines.isEmpty, state.lost == 0, !state.isFinished,
                        !Task.isCancelled
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

    /// Away from the loops, which what a task calls would follow: reading a line costs more than
    /// writing one.
    private static func filtered(
        _ lines: [UInt8],
        by filter: [WhereExpression]
    ) async -> [UInt8] {
        // Awaited at once, and short.
        await Task(executorPreference: globalConcurrentExecutor) {
            matching(filter, among: lines)
        }
        .value
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
                facts: [("dropped", .number(lost)), ("reason", .text("the reader is too slow"))]
            ),
            to: output
        )
        return output.span.array
    }
}
