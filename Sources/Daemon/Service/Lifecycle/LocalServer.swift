import NetproxyBytes
package import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyPath
package import NetworkCore

/// A small HTTP server on a loop, strict like the data listeners: the admin socket, the
/// demo's upstream and the page that a sign-in comes back to are made of it.
///
/// Request bodies are read whole, up to a limit, but not before their heads were judged.
///
/// Not `Sendable`: it never leaves its loop.
package final class LocalServer {
    /// A request, with its body.
    package struct Call: Sendable {
        package let method: HTTPMethod
        let target: RequestTarget
        package let headers: HTTPHeaders
        package let host: Authority?
        let peer: SocketPeer
        package let body: ByteSlice

        /// The path, without the query.
        package var path: String { target.pathAndQuery.map { String(TargetPath($0).path) } ?? "" }
        /// The query, without the question mark.
        package var query: String? {
            target.pathAndQuery.flatMap { TargetPath($0).query }.map(String.init)
        }
    }

    package typealias Answer = @Sendable (Call) async -> Response

    /// How much a peer may ask for.
    package struct Rules: Sendable {
        /// The largest request body it reads, in bytes.
        var bodyLimit = 16 << 20
        /// How many connections there may be; beyond that the one that has been idle longest is closed.
        var connections: Int?
        /// What one request may be.
        var bounds = DownstreamConnection.Bounds(
            limits: HTTP1Limits(),
            headTimeout: .seconds(10),
            bodyRate: nil
        )
        /// The descriptors that its connections may take.
        var descriptors = Listener.Descriptors.all
        /// Refuses a request by its head, whose body is still to come.
        var judge: @Sendable (Call) -> Response? = { _ in nil }
    }

    /// A connection, and since when it has had no request; `nil` while it has one.
    private struct Guest {
        let connection: DownstreamConnection
        var idleSince: UInt64?
    }

    private let loop: EventLoop
    private let rules: Rules
    private let answer: Answer
    /// Called with each response that was sent completely.
    private let onAnswered: (@Sendable (Response) -> Void)?
    private var listener: Listener?
    private var guests: [ObjectIdentifier: Guest] = [:]
    private var onDrained: (() -> Void)?

    package init(
        _ socket: borrowing ListeningSocket,
        on loop: EventLoop,
        rules: Rules = Rules(),
        answer: @escaping Answer,
        onAnswered: (@Sendable (Response) -> Void)? = nil
    ) throws(IOError) {
        self.loop = loop
        self.rules = rules
        self.answer = answer
        self.onAnswered = onAnswered
        listener = try Listener(socket, on: loop, descriptors: rules.descriptors) {
            [unowned self] in serve($0)
        }
    }

    private func serve(_ socket: StreamSocket) {
        guard makeRoom() else { return socket.reset() }
        let connection = DownstreamConnection(socket, bounds: rules.bounds)
        guests[ObjectIdentifier(connection)] = Guest(connection: connection, idleSince: loop.now)
        let bound = LoopBound((server: self, connection: connection), on: loop)
        // One task for the connection's life, which never leaves the loop.
        let task = Task(executorPreference: loop) {
            let (server, connection) = bound.value
            await server.run(connection)
        }
        socket.onPeerClosed = { task.cancel() }
    }

    /// Closes the connection that has been idle longest, if there are as many as there may be.
    ///
    /// - Returns: whether there is room for one more.
    private func makeRoom() -> Bool {
        let present = guests.values.filter { !$0.connection.socket.isAborted }
        guard let limit = rules.connections, present.count >= limit else { return true }
        let idle = present.filter { $0.idleSince != nil }
        let oldest = idle.min { $0.idleSince ?? 0 < $1.idleSince ?? 0 }
        oldest?.connection.socket.abort()
        return oldest != nil
    }

    private func note(_ connection: DownstreamConnection, idleSince time: UInt64?) {
        guests[ObjectIdentifier(connection)]?.idleSince = time
    }

    private func run(_ connection: DownstreamConnection) async {
        do {
            while try await connection.nextHead(), let head = connection.head {
                guard try await handle(head, connection) else { break }
            }
        } catch let error as HTTP1Error {
            await refuse(connection.unreadHead, NetworkError(error), connection)
        } catch {
            // The peer is gone or too slow: no answer is possible.
        }
        await connection.end()
        guests[ObjectIdentifier(connection)] = nil
        if guests.isEmpty { onDrained?() }
    }

    private func refuse(
        _ head: RequestHead,
        _ reason: NetworkError,
        _ connection: DownstreamConnection
    ) async {
        let response = ErrorResponder.response(to: reason, channel: nil, requestID: "")
        var writer = ResponseWriter(response, to: head, .close, on: connection)
        try? await writer.write()
        await leave(connection)
    }

    /// Closes a connection whose last answer is written.
    private func leave(_ connection: DownstreamConnection) async {
        note(connection, idleSince: loop.now)
        await connection.closeAfterLingering()
    }

    /// Answers one request.
    ///
    /// - Returns: whether another may follow.
    private func handle(
        _ head: RequestHead,
        _ connection: DownstreamConnection
    ) async throws -> Bool {
        note(connection, idleSince: nil)
        defer { note(connection, idleSince: loop.now) }
        if let refusal = rules.judge(LocalServer.call(head, connection.peer, ByteSlice([]))) {
            return try await deliver(refusal, head, connection)
        }
        let body: ByteSlice
        do {
            if case .length(let length) = head.framing, length > rules.bodyLimit {
                throw tooLong
            }
            body = try await connection.requestBody(head.framing).collect(upTo: rules.bodyLimit)
        } catch let error as NetworkError where error.kind != .cancelled {
            let isTooLong = error.kind == .httpResponseBodySize
            await refuse(head, isTooLong ? tooLong : error, connection)
            return false
        }
        let call = LocalServer.call(head, connection.peer, body)
        return try await deliver(await answer(call), head, connection)
    }

    private static func call(
        _ head: RequestHead,
        _ peer: SocketPeer,
        _ body: ByteSlice
    ) -> Call {
        Call(
            method: head.method,
            target: head.target,
            headers: head.headers,
            host: head.host,
            peer: peer,
            body: body
        )
    }

    private func deliver(
        _ response: Response,
        _ head: RequestHead,
        _ connection: DownstreamConnection
    ) async throws -> Bool {
        // An endless answer lasts as long as the peer reads, however slowly.
        if case .stream(_, nil) = response.body { connection.liftIdleTimeout() }
        var writer = ResponseWriter(response, to: head, head.persistence, on: connection)
        try await writer.write()
        onAnswered?(response)
        if !writer.persists { await leave(connection) }
        return writer.persists
    }

    /// The error for content that is not read to its end.
    private var tooLong: NetworkError {
        NetworkError(
            .httpRequestError,
            side: .downstream,
            detail:
                "the request's content is longer than the \(rules.bodyLimit) bytes that are accepted",
            status: 413
        )
    }

    /// Accepts no more, and calls `completion` when all open connections have ended.
    func drain(_ completion: @escaping () -> Void) {
        listener?.close()
        listener = nil
        onDrained = completion
        for guest in guests.values { guest.connection.drain() }
        if guests.isEmpty { completion() }
    }

    /// Accepts no more and ends all open connections.
    package func close() {
        listener?.close()
        listener = nil
        for guest in guests.values { guest.connection.socket.abort() }
    }
}

extension LoopBound {
    /// Returns the value of a result that was made on the loop, or throws its error.
    package func unwrapped<Success>() async throws -> LoopBound<Success>
    where Value == Result<Success, any Error> {
        try await withCheckedThrowingContinuation { continuation in
            loop.submit {
                continuation.resume(with: value.map { LoopBound<Success>($0, on: loop) })
            }
        }
    }
}
