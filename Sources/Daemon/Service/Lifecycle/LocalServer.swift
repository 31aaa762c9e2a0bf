import NetproxyBytes
package import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyPath
package import NetworkCore

/// A small HTTP server on a loop, as strict as the data listeners.
///
/// The admin socket, the demo's upstream and the redirect page of a sign-in use it. Request bodies are read
/// completely, up to a limit, but not before the head was judged.
///
/// Not `Sendable`: it never leaves its loop.
package final class LocalServer {
    /// A request with its body.
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

    package typealias Responder = @Sendable (Call) async -> Response

    /// The limits for a peer.
    package struct Rules: Sendable {
        /// The largest accepted request body, in bytes.
        var bodyLimit = 16 << 20
        /// The maximum number of connections; beyond it, the connection that has been idle longest is closed.
        var connections: Int?
        /// The limits of one request.
        var bounds = DownstreamLimits(
            limits: HTTP1Limits(),
            headTimeout: .seconds(10),
            bodyRate: nil
        )
        /// The descriptors available to connections.
        var descriptors = Listener.Descriptors.all
        /// Refuses a request by its head, before its body is read.
        var judge: @Sendable (Call) -> Response? = { _ in nil }
    }

    /// A connection, and the time since which it has been idle; `nil` during a request.
    private struct Guest {
        let connection: DownstreamConnection
        var idleSince: UInt64?
    }

    private let loop: EventLoop
    private let rules: Rules
    private let answer: Responder
    /// Called after each completely sent response.
    private let onAnswered: (@Sendable (Response) -> Void)?
    private var listener: Listener?
    private var guests: [ObjectIdentifier: Guest] = [:]
    private var onDrained: (() -> Void)?

    package init(
        _ socket: borrowing ListeningSocket,
        on loop: EventLoop,
        rules: Rules = Rules(),
        answer: @escaping Responder,
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
        // One task serves the connection until it closes, and never leaves the loop.
        let task = Task(executorPreference: loop) {
            let (server, connection) = bound.value
            await server.run(connection)
        }
        socket.onPeerClosed = { task.cancel() }
    }

    /// Closes the connection that has been idle longest, if the limit is reached.
    ///
    /// - Returns: whether there is room for one more connection.
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
            // The peer is gone or too slow, so no response is possible.
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

    /// Closes a connection after its last response.
    private func leave(_ connection: DownstreamConnection) async {
        note(connection, idleSince: loop.now)
        await connection.closeAfterLingering()
    }

    /// Responds to one request.
    ///
    /// - Returns: whether another request may follow.
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
        // An endless response lasts until the peer stops reading, even if it reads slowly.
        if case .stream(_, nil) = response.body { connection.liftIdleTimeout() }
        var writer = ResponseWriter(response, to: head, head.persistence, on: connection)
        try await writer.write()
        onAnswered?(response)
        if !writer.persists { await leave(connection) }
        return writer.persists
    }

    /// The error for content above the limit.
    private var tooLong: NetworkError {
        NetworkError(
            .httpRequestError,
            side: .downstream,
            detail:
                "the request's content is longer than the \(rules.bodyLimit) bytes that are accepted",
            status: 413
        )
    }

    /// Stops accepting, and calls `completion` when all open connections have ended.
    func drain(_ completion: @escaping () -> Void) {
        listener?.close()
        listener = nil
        onDrained = completion
        for guest in guests.values { guest.connection.drain() }
        if guests.isEmpty { completion() }
    }

    /// Stops accepting, and ends all open connections.
    package func close() {
        listener?.close()
        listener = nil
        for guest in guests.values { guest.connection.socket.abort() }
    }
}

extension LoopBound {
    /// Returns the value of a result from the loop, or throws its error.
    package func unwrapped<Success>() async throws -> LoopBound<Success>
    where Value == Result<Success, any Error> {
        try await withCheckedThrowingContinuation { continuation in
            loop.submit {
                continuation.resume(with: value.map { LoopBound<Success>($0, on: loop) })
            }
        }
    }
}
