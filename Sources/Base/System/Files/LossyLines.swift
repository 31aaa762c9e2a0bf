import Synchronization

/// Lines on a standard stream whose reader may stop without stopping the process.
///
/// Such a reader is a terminal after Ctrl-S, a pager, or a stuck log collector. The functions can be called
/// from any thread. A line that the reader does not accept in time is lost; the next accepted line is
/// preceded by a notice with the number of lost lines.
package final class LossyLines: Sendable {
    private struct State {
        /// The rest of a partly written line.
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
    ///   - stream: the destination of the lines.
    ///   - patience: the longest wait for a slow reader; after a lost line, the next lines do not wait.
    ///   - notice: returns the notice for a number of lost lines.
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

    /// Writes the line; returns `false` if the reader accepts no part of it.
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

    /// Writes as many bytes as the reader accepts.
    private func send(_ bytes: inout [UInt8], patience: Duration) {
        while !bytes.isEmpty, let count = take(bytes, patience: patience) {
            bytes.removeFirst(count)
        }
    }

    private func take(_ bytes: [UInt8], patience: Duration) -> Int? {
        do throws(FileError) {
            return try stream.writePiece(bytes.span, patience: patience)
        } catch {
            // The reader is gone, or the disk is full: the line is also lost.
            return nil
        }
    }
}
