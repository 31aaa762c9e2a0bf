package import NetproxyBytes
package import NetproxyEventIO
package import NetproxyHTTP2
import NetproxyLiveObjects

/// The user of an HTTP/2 connection: the downstream or the upstream end of exchanges.
package protocol HTTP2WireUser: AnyObject {
    /// Handles an event; `content` belongs to the event `content`.
    func received(_ event: HTTP2Event, _ content: ByteSlice?)

    /// Called after all events of one read were delivered.
    func receivedAll()

    /// Handles the close of the connection; called once.
    func ended(_ end: HTTP2WireEnd)
}

/// The reason for the end of an HTTP/2 connection.
package enum HTTP2WireEnd: Sendable {
    /// Both sides agreed on the end.
    case complete
    case fault(IOError)
    /// The peer violated the protocol; the text is for the log.
    case violation(String)
}

/// A socket and its session: reads for all streams, and writes for all streams together.
///
/// It uses no task: the socket calls it when bytes arrive, and it writes at the end of the loop's turn. So
/// all exchanges of one turn share one system call in each direction. Not `Sendable`.
package final class HTTP2Wire: FlushEntry {
    package let socket: StreamSocket
    package let session: HTTP2Session
    package let loop: EventLoop
    package weak var user: (any HTTP2WireUser)?
    /// The longest time during which the kernel may accept no bytes.
    package var writeIdle: Duration?
    /// The time of the last read, on the loop's clock.
    package private(set) var lastRead: UInt64
    private let buffer: ReadBuffer
    /// The memory of delivered events, kept for reuse.
    private var taken: [HTTP2Event] = []
    private var isQueued = false
    private var isWriting = false
    private var hasEnded = false
    private let life = LiveObject(HTTP2Wire.self)

    /// The number of reads before other sockets get their turn.
    private static let readsPerTurn = 16
    /// The size of one write, in bytes.
    private static let outputSize = 64 * 1024

    /// Takes over a connected socket; call `start()` to begin.
    ///
    /// - Parameters:
    ///   - socket: the socket, which nothing else may read or write from now on.
    ///   - session: a new session, or one with queued output.
    ///   - buffer: the bytes already read from the socket.
    package init(_ socket: StreamSocket, _ session: HTTP2Session, read buffer: ReadBuffer) {
        self.socket = socket
        self.session = session
        self.buffer = buffer
        loop = socket.loop
        lastRead = socket.loop.now
        super.init()
    }

    /// Sends the preface, and handles the bytes that have arrived.
    package func start() {
        flushSoon()
        if !buffer.isEmpty {
            receive()
            deliver()
        }
        pump()
    }

    /// Whether the connection is closed.
    package var isClosed: Bool { hasEnded }

    /// Schedules the session's output to be written at the end of the turn.
    package func flushSoon() {
        guard !isQueued, !hasEnded, session.wantsToSend else { return }
        isQueued = true
        loop.flushLater(self)
    }

    // MARK: - In

    /// Handles the bytes that have arrived, even before the loop reports them: the end may be among them.
    package func takeArrived() {
        guard !hasEnded, socket.hasArrived() else { return }
        pump()
    }

    private func pump() {
        guard !hasEnded else { return }
        var isDrained = false
        do throws(IOError) {
            for _ in 0..<HTTP2Wire.readsPerTurn {
                guard let count = try socket.readNow(into: buffer, minimum: Slab.standardCapacity)
                else {
                    isDrained = true
                    break
                }
                guard count > 0 else { throw .closedByPeer }
                lastRead = loop.now
                guard receive() else { return }
            }
        } catch {
            deliver()
            return end(.fault(error))
        }
        deliver()
        guard !hasEnded else { return }
        buffer.release(to: loop.slabs)
        flushSoon()
        guard isDrained else {
            let bound = LoopBound(self, on: loop)
            return loop.submit { bound.value.pump() }
        }
        socket.park(until: .max) { [weak self] in self?.pump() }
    }

    /// Feeds the session; returns whether the connection stays open.
    @discardableResult
    private func receive() -> Bool {
        do throws(HTTP2ConnectionError) {
            try buffer.withSpan { bytes throws(HTTP2ConnectionError) in
                try session.receive(bytes, now: loop.now)
            }
        } catch {
            handOn()
            buffer.consume(buffer.count)
            deliver()
            lastWord()
            end(.violation(error.reason))
            return false
        }
        handOn()
        buffer.consume(buffer.count)
        return !hasEnded
    }

    private func handOn() {
        var events: [HTTP2Event] = []
        swap(&events, &taken)
        session.takeEvents(into: &events)
        defer {
            events.removeAll(keepingCapacity: true)
            swap(&events, &taken)
        }
        for event in events {
            // An earlier event may have ended the connection.
            guard !hasEnded else { return }
            var content: ByteSlice?
            if case .content(_, let range) = event { content = buffer.slice(range) }
            user?.received(event, content)
        }
    }

    private func deliver() { user?.receivedAll() }

    // MARK: - Out

    override package func flush() {
        isQueued = false
        guard !isWriting, !hasEnded else { return }
        write()
    }

    private func write() {
        while true {
            let output = loop.outputs.take()
            do throws(HTTP2ConnectionError) {
                try session.produce(into: output, upTo: HTTP2Wire.outputSize)
            } catch {
                loop.outputs.give(output)
                return end(.violation(error.reason))
            }
            guard output.count > 0 else {
                loop.outputs.give(output)
                break
            }
            var none: ByteSlice?
            do throws(IOError) {
                if let written = try socket.writeNow(output, &none) {
                    return wait(output, from: written)
                }
                loop.outputs.give(output)
            } catch {
                loop.outputs.give(output)
                return end(.fault(error))
            }
        }
        handOn()
        deliver()
        if session.isOver { end(.complete) }
    }

    /// Starts a task that waits until the kernel accepts more bytes.
    private func wait(_ output: OutputBuffer, from written: Int) {
        isWriting = true
        let bound = LoopBound((wire: self, output: output), on: loop)
        Task(executorPreference: loop) {
            let (wire, output) = bound.value
            let fault = await IOError.thrown { () async throws(IOError) in
                try await wire.socket.write(output, nil, from: written, idle: wire.writeIdle)
            }
            wire.loop.outputs.give(output)
            wire.isWriting = false
            if let fault { return wire.end(.fault(fault)) }
            if !wire.hasEnded { wire.write() }
        }
    }

    /// Writes the rest of the output if the kernel accepts it.
    private func lastWord() {
        guard !isWriting else { return }
        let output = loop.outputs.take()
        defer { loop.outputs.give(output) }
        var none: ByteSlice?
        if (try? session.produce(into: output, upTo: HTTP2Wire.outputSize)) != nil {
            _ = try? socket.writeNow(output, &none)
        }
    }

    // MARK: - The end

    /// Ends the connection, and sends the reason to the peer if the kernel accepts it.
    package func close(_ code: HTTP2Code = .noError) {
        guard !hasEnded else { return }
        session.terminate(code)
        lastWord()
        end(.complete)
    }

    /// Ends the connection after an error found elsewhere.
    package func end(_ end: HTTP2WireEnd) {
        guard !hasEnded else { return }
        hasEnded = true
        loop.remove(self)
        socket.abort()
        socket.close()
        buffer.consume(buffer.count)
        buffer.release(to: loop.slabs)
        user?.ended(end)
    }

    deinit {
        if !hasEnded { socket.close() }
    }
}
