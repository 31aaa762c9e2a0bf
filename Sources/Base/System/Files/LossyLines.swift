import Synchronization

/// Lines on a standard stream whose reader may stop without stopping the process: a terminal after
/// Ctrl-S, a pager, a log collector that hangs.
///
/// Callable from any thread. A line that the reader does not take in time is lost; the next line it
/// takes is preceded by a notice of how many were.
package final class LossyLines: Sendable {
    private struct State {
        /// The rest of a line that the reader has in part.
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
    ///   - patience: how long a line waits for a slow reader; after a lost line the next ones do
    ///     not wait.
    ///   - notice: makes the notice of how many lines were lost.
    package init(
        _ stream: StandardStream,
        patience: Duration = .milliseconds(500),
        notice: @escaping @Sendable (Int) -> String
    ) {
        self.stream = stream.withoutWaiting
        self.patience = patience
        self.notice = notice
    }

    /// Writes a line, or drops it.
    package func write(_ line: String) {
        state.withLock { state in
            if state.lost == 0 || begin(notice(state.lost), &state) {
                state.lost = 0
                if begin(line, &state) { return }
            }
            state.lost += 1
        }
    }

    /// Writes the line; returns false if the reader takes no part of it.
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
            // The reader has gone, or the disk is full: lost as well.
            return nil
        }
    }
}
