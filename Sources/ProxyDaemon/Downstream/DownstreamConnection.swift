import Bytes
import EventIO
import HTTP1
import HTTPMessage
import NetworkCore

/// One connection from an app: reads requests one after the other and writes their responses.
///
/// One task runs it on its loop while there is something to do; idle, it has none. Not `Sendable`.
final class DownstreamConnection {
    /// How long an app may keep a connection open without a request, like nginx's 75 s.
    private static let keepAlive = Duration.seconds(75)

    // What every request looks at stands first, in few cache lines.
    let socket: StreamSocket
    let loop: EventLoop
    let buffer = ReadBuffer()
    private(set) var phase = Phase.waiting
    private(set) var ending = Ending.none
    /// The request that is being read or answered.
    var current = Current()
    /// How many requests came so far.
    private var served = 0
    var isWritingInterim = false
    /// Takes interim answers to the app; whoever serves the connection sets it.
    var interim: InterimWriter?
    /// Until when it may stay open without a request.
    private(set) var idleDeadline = UInt64.max
    /// Who calls: address and port, or `unix`.
    let client: String
    /// The listener's own channel, if it has one; a reload may give it another.
    var dedicatedChannel: String?
    /// How long the task waits with the connection for a request before it leaves it parked.
    var parksAfter: Duration?
    /// The peer's user id, on a unix socket.
    let userID: UInt32?
    /// What is known of the request that is being read, and the means to read it; nothing while the
    /// connection is parked.
    private(set) var intake: Intake?
    /// The final answer, while it has begun and waits for the rest: rare, so in a place of its own.
    var begun: Begun?
    /// Who reads the content of the request.
    var pull = Pull()
    /// Who waits for the end of an interim answer: the exchange itself, or whoever has the next one.
    var interimEnds: [CheckedContinuation<Void, Never>] = []
    /// The number of the listener that it came over.
    var listener: Int?
    /// The task that serves it; nothing while it is parked.
    var task: Task<Void, Never>?
    /// What the task waits on elsewhere; nothing while the connection is parked.
    var relay: AbortRelay?
    private let bounds: Bounds

    init(
        _ socket: StreamSocket,
        bounds: Bounds,
        dedicatedChannel: String?
    ) {
        self.socket = socket
        self.bounds = bounds
        self.dedicatedChannel = dedicatedChannel
        loop = socket.loop
        client = socket.peer.isUnix ? "unix" : socket.peer.description
        userID = socket.peerUserID
    }

    /// Reads the head of the next request into the intake; false when the app is done.
    ///
    /// - Throws: `HTTP1Error` for what is no request, `IOError.timedOut` for a head that takes too
    ///   long.
    func nextHead() async throws -> Bool {
        // The last answer may still be on its way, under its own timeout.
        current = Current(number: current.number + 1, idleTimeout: current.idleTimeout)
        if buffer.isEmpty {
            buffer.release(to: loop.slabs)
            guard let limit = beginWait() else { return false }
            do throws(IOError) {
                try await socket.waitReadable(until: limit, into: buffer)
            } catch {
                if error == .timedOut, limit < idleDeadline, ending == .none { park(.resting) }
                return false
            }
        }
        phase = .receiving
        var deadline: UInt64?
        while true {
            if try decodeHead() { return true }
            // The empty line that some apps leave behind their content begins no request.
            let hasBegun = intake?.decoder.hasBegun ?? false
            if hasBegun, deadline == nil { deadline = loop.deadline(after: bounds.headTimeout) }
            do throws(IOError) {
                guard let count = try socket.readNow(into: buffer) else {
                    if !hasBegun, ending != .none { return false }
                    if !hasBegun { phase = .waiting }
                    try await socket.waitReadable(
                        until: deadline ?? loop.deadline(after: DownstreamConnection.keepAlive),
                        into: buffer
                    )
                    phase = .receiving
                    continue
                }
                // A peer that goes away in the middle of a head has nobody to answer to.
                guard count > 0 else { return false }
            } catch {
                guard error == .timedOut, hasBegun else { return false }
                throw error
            }
        }
    }

    /// Stands for a head that was refused, or did not arrive in time: its bytes are still here.
    var unreadHead: RequestHead { buffer.withSpan { RequestHead.unreadable($0) } }

    /// The request line of a head that was refused, or did not arrive in time; nothing where it
    /// cannot be read.
    var requestLine: RequestHead? {
        buffer.withSpan { bytes in intake?.decoder.requestLine(of: bytes) }
    }

    // Never inlined: what it holds takes no room among what is kept while a request waits.
    @inline(never)
    private func decodeHead() throws(HTTP1Error) -> Bool {
        guard !buffer.isEmpty else { return false }
        let intake = intake ?? beginIntake()
        let length = try buffer.withSpan { bytes throws(HTTP1Error) in
            guard let (head, length) = try intake.decoder.decode(bytes) else { return nil as Int? }
            begin(head, intake)
            intake.head = consume head
            return length
        }
        guard let length else { return false }
        buffer.consume(length)
        // Its memory is still in the processor's caches, and the next who reads takes it from there.
        buffer.release(to: loop.slabs)
        return true
    }

    /// Until when to wait for a request; nothing if there is nothing to wait for, or if the
    /// connection is better parked.
    private func beginWait() -> UInt64? {
        let wasParked = isParked
        phase = .waiting
        if ending != .none { return nil }
        // A new connection counts as readable until somebody looks.
        socket.probe()
        // Whoever comes back from parking has waited before.
        if !wasParked { idleDeadline = loop.deadline(after: DownstreamConnection.keepAlive) }
        // Many apps send one request and keep the connection: its task's memory is the next one's.
        if parksAfter != nil, served <= 1, socket.isQuiet, loop.now < idleDeadline {
            park(.parked)
            return nil
        }
        return min(idleDeadline, loop.deadline(after: parksAfter))
    }

    /// Begins parked: whoever connects may take his time.
    func beginParked() {
        idleDeadline = loop.deadline(after: DownstreamConnection.keepAlive)
        phase = .parked
    }

    private func park(_ phase: Phase) {
        self.phase = phase
        intake = nil
    }

    /// Whether it has no task, or is about to have none.
    var isParked: Bool { phase == .parked || phase == .resting }

    /// Has something to do once more.
    ///
    /// - Returns: whether it rested.
    func wake() -> Bool {
        defer { phase = .parked }
        return phase == .resting
    }

    /// Begins the final answer.
    func beginAnswer() {
        phase = .answering
        // An upload that goes on must not ask for its body any more.
        current.owesContinue = false
    }

    private func beginIntake() -> Intake {
        let intake = Intake(bounds)
        self.intake = intake
        return intake
    }

    private func begin(_ head: borrowing RequestHead, _ intake: Intake) {
        served += 1
        current.idleTimeout = Current.idleTimeout
        current.owesContinue = head.expectsContinue && head.framing != .none
        current.takesTrailers = head.takesTrailers
        if head.framing == .none || head.framing == .length(0) {
            intake.body = nil
        } else {
            intake.body = BodyDecoder(head.framing, limits: bounds.limits)
            intake.pace.reset()
        }
    }

    /// Ends the connection if it waits for a request; else after its exchange.
    func drain() {
        if ending == .none { ending = .draining }
        if phase == .waiting || isParked { socket.cancelRead() }
    }

    /// Ends it now, in the middle of whatever it does; an app whose answer has not begun is told why.
    func cut() {
        ending = .cut
        task?.cancel()
        relay?.abort()
        if phase == .receiving, !isWritingInterim {
            socket.cancelRead()
        } else {
            socket.abort()
        }
    }

    /// Ends it, unless that has happened by itself: its task is gone then.
    func cutUnlessClosed() {
        if task != nil || isParked { cut() }
    }

    /// Whether every byte of the request was read, so that another may follow.
    var isRequestComplete: Bool { intake?.body?.isComplete ?? true }

    /// Closes in such a way that the app can still read what was written: a close with unread bytes
    /// would reset the connection and may take the answer with it.
    ///
    /// Many apps send all of their content before they read, so that what still comes is read until
    /// the app is silent for a second, however long it is.
    func closeAfterLingering() async {
        await stopPulling()
        await settle()
        if !isRequestComplete || !buffer.isEmpty || !socket.isQuiet, !socket.isPeerClosed {
            socket.shutdownWriting()
            let begun = loop.now
            // Like nginx's `lingering_time`; whoever wants to stop does not wait for it.
            while loop.now &- begun < (ending == .none ? 30_000_000_000 : 1_000_000_000) {
                buffer.consume(buffer.count)
                let count = try? await socket.read(
                    into: buffer,
                    minimum: Slab.standardCapacity,
                    until: loop.deadline(after: .seconds(1))
                )
                guard let count, count > 0 else { break }
                // A fast app would keep the loop from everybody else.
                await Task.yield()
            }
        }
        close()
    }

    /// Closes it once the kernel has the last answer.
    func end() async {
        await settle()
        close()
    }

    private func settle() async {
        guard socket.hasPosted else { return }
        do throws(IOError) {
            try await socket.finishPosted(until: loop.deadline(after: current.idleTimeout))
        } catch {
            socket.reset()
        }
    }

    /// Ends the connection so that no app takes what it got for a complete answer.
    func reset() {
        socket.reset()
        close()
    }

    func close() {
        interim = nil
        buffer.consume(buffer.count)
        buffer.release(to: loop.slabs)
        socket.close()
    }
}
