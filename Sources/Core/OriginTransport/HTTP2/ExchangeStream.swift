package import NetproxyBytes
import NetproxyEventIO
package import NetproxyHTTP1
package import NetproxyHTTP2
import NetproxyLiveObjects

/// The stream of one exchange: its state, the received content, and the two tasks that may wait for it.
///
/// It performs the actions of `StreamState` that concern the tasks. The caller performs the others: it resets
/// and forgets the stream. The reader waits on this object itself. Not `Sendable`.
package final class ExchangeStream: StreamWait {
    package let id: Int32
    package var state = StreamState()
    private let wire: HTTP2Wire
    private var content = ContentQueue()
    /// The number of content bytes that were taken and still count as unread.
    ///
    /// The piece in use counts until the next one is taken, so that the peer sends no more while it waits.
    private var held = 0
    /// Whether the content no longer counts, since its exchange has ended.
    private var isReleased = false
    /// The time at which content was last taken, on the loop's clock.
    package private(set) var lastTaken: UInt64
    /// The time at which content last arrived.
    package private(set) var lastReceived: UInt64
    /// The number of queued bytes that have not been sent.
    package private(set) var unsent = 0
    /// The wait of the writer; `nil` before the first wait.
    private var room: StreamWait?
    private let life = LiveObject(ExchangeStream.self)

    package init(_ id: Int32, over wire: HTTP2Wire) {
        self.id = id
        self.wire = wire
        lastTaken = wire.loop.now
        lastReceived = wire.loop.now
        super.init(on: wire.loop)
    }

    // MARK: - Content

    /// The number of received bytes that were not taken.
    package var unread: Int { content.count }

    /// Takes the next piece; the previous one was used, so the peer may send as many bytes again.
    package func take() -> ByteSlice? {
        release(held)
        held = 0
        guard let piece = content.removeFirst() else { return nil }
        lastTaken = loop.now
        held = piece.count
        return piece
    }

    /// Takes all content, which counts as unread until the exchange ends.
    package func takeAll() -> ByteSlice {
        held += content.count
        return content.takeAll()
    }

    /// Drops the content that was not taken.
    package func drop() {
        release(content.count)
        content.removeAll()
    }

    /// Stops counting all content of the exchange, which has ended.
    package func releaseAll() {
        release(held + content.count)
        held = 0
        isReleased = true
    }

    private func release(_ count: Int) {
        guard count > 0, !isReleased else { return }
        wire.session.consumed(count, on: id)
        wire.flushSoon()
    }

    // MARK: - Events of the session

    /// Handles the final head.
    package func receiveHead(_ framing: BodyFraming) {
        _ = state.receiveHead(framing)
        endWait(.news)
    }

    /// Handles received content, which is dropped if the message is over.
    package func receive(_ piece: ByteSlice) {
        guard state.receive(piece.count) == .deliver, !isReleased else {
            wire.session.consumed(piece.count, on: id)
            return wire.flushSoon()
        }
        content.append(piece)
        lastReceived = loop.now
        endWait(.news)
    }

    /// Handles the end of the message.
    package func receiveEnd() {
        _ = state.receiveEnd()
        endWait(.news)
    }

    /// Handles a message that violates the protocol.
    package func refuse(_ fault: HTTP2Fault) {
        _ = state.refuse(fault)
        endWait(.news)
    }

    /// Handles the sending of queued content.
    package func sent(_ count: Int) {
        unsent -= count
        room?.endWait(.news)
    }

    /// Handles the end of the stream.
    package func close(_ end: StreamState.End) -> StreamState.Action {
        wakeAll(after: state.close(end))
    }

    // MARK: - Decisions of the exchange

    /// Records content that the caller passes to the session immediately.
    package func send(_ count: Int) -> StreamState.Action {
        let action = state.send(count)
        if action == .send { unsent = count }
        return action
    }

    /// Stops receiving because the rest of the message is not wanted.
    package func stopReceiving(_ code: HTTP2Code) {
        _ = state.stopReceiving(code)
        endWait(.news)
    }

    /// Ends the current wait of the writer and all later ones.
    package func stopWriting() {
        room = room ?? StreamWait(on: loop)
        room?.endWait(.over)
    }

    /// Ends the current wait of the writer.
    package func cancelWrite() { room?.endWait(.canceled) }

    /// Ends the stream immediately.
    package func reset(_ code: HTTP2Code) -> StreamState.Action {
        wakeAll(after: state.reset(code))
    }

    /// Aborts our message before it is complete.
    package func breakOff() -> StreamState.Action { wakeAll(after: state.breakOff()) }

    /// Ends the exchange: frees the unread content and the timers.
    ///
    /// A complete message keeps its content, which may still be forwarded to the other side of netproxy.
    package func finish() -> StreamState.Action {
        let action = wakeAll(after: state.finish())
        if !state.isComplete { drop() }
        releaseAll()
        removeTimers()
        return action
    }

    /// Removes the last deadlines, which would keep this object in the loop's timers.
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

    /// Waits until all queued content has been sent.
    ///
    /// - Parameter idle: the longest time without content in either direction.
    /// - Returns: `nil` once all of it has been sent, otherwise the reason that ended the wait.
    package func waitForRoom(idle: Duration?) async -> WaitEnd? {
        guard unsent > 0 else { return nil }
        let room = room ?? StreamWait(on: loop)
        self.room = room
        while unsent > 0 {
            guard state.isSending else { return .over }
            var end = await room.wait(until: loop.deadline(after: idle))
            while end == .deadline, let idle, loop.now < lastReceived &+ idle.nanoseconds {
                end = await room.wait(until: lastReceived &+ idle.nanoseconds)
            }
            guard end == .news || unsent <= 0 else { return end }
        }
        return nil
    }
}
