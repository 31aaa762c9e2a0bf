import Synchronization

/// Lines on a standard stream from a process that must not stop when its reader does: a terminal
/// after Ctrl-S, a pager, a collector of logs that hangs.
///
/// Callable from any thread. What the reader does not take within a moment is lost, and the next line
/// that it takes is preceded by one that tells how many were.
package final class LossyLines: Sendable {
    private struct State {
        /// The rest of a line whose beginning the reader has.
        var rest: [UInt8] = []
        var lost = 0
    }

    private let stream: StandardStream
    private let patience: Duration
    private let notice: @Sendable (Int) -> String
    private let state = Mutex(State())

    /// Writes to a stream.
    ///
    /// - Parameters:
    ///   - stream: where the lines go.
    ///   - patience: how long a line waits for a reader who is slow; one behind a line that was lost
    ///     does not wait.
    ///   - notice: says that so many lines were lost.
    package init(
        _ stream: StandardStream,
        patience: Duration = .milliseconds(500),
        notice: @escaping @Sendable (Int) -> String
    ) {
        self.stream = stream.withoutWaiting
        self.patience = patience
        self.notice = notice
    }

    /// Writes a line, or loses it.
    package func write(_ line: String) {
        state.withLock { state in
            if state.lost == 0 || begin(notice(state.lost), &state) {
                state.lost = 0
                if begin(line, &state) { return }
            }
            state.lost += 1
        }
    }

    /// Whether the reader takes the line, or its beginning.
    private func begin(_ line: String, _ state: inout State) -> Bool {
        send(&state.rest, patience: .zero)
        guard state.rest.isEmpty else { return false }
        let whole = Array((line + "\n").utf8)
        state.rest = whole
        send(&state.rest, patience: state.lost > 0 ? .zero : patience)
        guard state.rest.count == whole.count else { return true }
        state.rest = []
        return false
    }

    /// Writes as much as the reader takes.
    private func send(_ bytes: inout [UInt8], patience: Duration) {
        while !bytes.isEmpty, let count = take(bytes, patience: patience) {
            bytes.removeFirst(count)
        }
    }

    private func take(_ bytes: [UInt8], patience: Duration) -> Int? {
        do throws(FileError) {
            return try stream.writePiece(bytes.span, patience: patience)
        } catch {
            // A reader that has gone, a full disk: lost as well.
            return nil
        }
    }
}
