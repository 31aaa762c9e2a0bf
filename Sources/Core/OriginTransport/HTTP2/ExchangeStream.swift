package import NetproxyBytes
package import NetproxyEventIO
package import NetproxyHTTP1
package import NetproxyHTTP2
import NetproxyLiveObjects

/// The stream of one exchange: its state, the content that has arrived, and the two tasks that may wait for it.
///
/// It performs the actions of `StreamState` that concern the tasks. The caller performs the rest: it resets and
/// forgets the stream. The reader waits on this object itself. Not `Sendable`.
package final class ExchangeStream: StreamWait {
    package let id: Int32
    package var state = StreamState()
    package var content = ContentQueue()
    /// The number of queued bytes that are not on their way.
    package private(set) var unsent = 0
    /// The waits of the writer; `nil` before the first.
    private var room: StreamWait?
    private let life = LiveObject(ExchangeStream.self)

    package init(_ id: Int32, on loop: EventLoop) {
        self.id = id
        super.init(on: loop)
    }

    // MARK: - Events of the session

    /// A final head has arrived.
    package func receiveHead(_ framing: BodyFraming) {
        _ = state.receiveHead(framing)
        endWait(.news)
    }

    /// Content has arrived; the reader has no use for it if the message is over.
    package func receive(_ piece: ByteSlice) {
        guard state.receive(piece.count) == .deliver else { return }
        content.append(piece)
        endWait(.news)
    }

    /// The message is complete.
    package func receiveEnd() {
        _ = state.receiveEnd()
        endWait(.news)
    }

    /// The message breaks the rules.
    package func refuse(_ fault: HTTP2Fault) {
        _ = state.refuse(fault)
        endWait(.news)
    }

    /// Queued content is on its way.
    package func sent(_ count: Int) {
        unsent -= count
        room?.endWait(.news)
    }

    /// The stream is closed.
    package func close(_ end: StreamState.End) -> StreamState.Action {
        wakeAll(after: state.close(end))
    }

    // MARK: - Decisions of the exchange

    /// Notes content that the caller passes to the session at once.
    package func send(_ count: Int) -> StreamState.Action {
        let action = state.send(count)
        if action == .send { unsent = count }
        return action
    }

    /// The rest of the message is not wanted.
    package func stopReceiving(_ code: HTTP2Code) {
        _ = state.stopReceiving(code)
        endWait(.news)
    }

    /// Ends the waits of the writer.
    package func stopWriting() {
        room = room ?? StreamWait(on: loop)
        room?.endWait(.over)
    }

    /// Ends the present wait of the writer.
    package func cancelWrite() { room?.endWait(.canceled) }

    /// Ends the stream at once.
    package func reset(_ code: HTTP2Code) -> StreamState.Action {
        wakeAll(after: state.reset(code))
    }

    /// Ends our message before it is complete.
    package func breakOff() -> StreamState.Action { wakeAll(after: state.breakOff()) }

    /// Ends the exchange: frees the content that nobody reads, and the timers.
    ///
    /// A complete message may still be on its way to the other side of netproxy.
    package func finish() -> StreamState.Action {
        let action = wakeAll(after: state.finish())
        if !state.isComplete { content.removeAll() }
        removeTimers()
        return action
    }

    /// Removes the last deadlines, which would keep this object among the timers of the loop.
    package func removeTimers() {
        loop.remove(self)
        if let room { loop.remove(room) }
    }

    private func wakeAll(after action: StreamState.Action) -> StreamState.Action {
        endWait(.news)
        if !state.isSending { room?.endWait(.over) }
        return action
    }

    // MARK: - Writing

    /// Waits until the queued content is on its way.
    ///
    /// - Parameter idle: the longest time without progress.
    /// - Returns: `nil` if all of it is, otherwise the reason for which it is not.
    package func waitForRoom(idle: Duration?) async -> WaitEnd? {
        guard unsent > 0 else { return nil }
        let room = room ?? StreamWait(on: loop)
        self.room = room
        while unsent > 0 {
            guard state.isSending else { return .over }
            let end = await room.wait(until: loop.deadline(after: idle))
            guard end == .news || unsent <= 0 else { return end }
        }
        return nil
    }
}
