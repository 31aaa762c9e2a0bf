import Bytes
import EventIO
import HTTP1
import HTTPMessage
import NetworkCore

/// A small HTTP server on a loop, strict like the data listeners: the admin socket, the
/// demo's upstream and the page that a sign-in comes back to are made of it.
///
/// Request bodies are read whole, up to a limit.
///
/// Not `Sendable`: it never leaves its loop.
final class LocalServer {
    /// A request, with its body.
    struct Call: Sendable {
        let method: HTTPMethod
        let target: RequestTarget
        let headers: HTTPHeaders
        let host: Authority?
        let body: ByteSlice

        /// The path, without the query.
        var path: String { target.pathAndQuery.map { String(TargetPath($0).path) } ?? "" }
        /// The query, without the question mark.
        var query: String? { target.pathAndQuery.flatMap { TargetPath($0).query }.map(String.init) }
    }

    typealias Answer = @Sendable (Call) async -> Response

    /// The largest request body it reads, in bytes.
    private static let bodyLimit = 16 << 20
    /// What a request to it may be.
    private static let bounds = DownstreamConnection.Bounds(
        limits: HTTP1Limits(),
        headTimeout: .seconds(10),
        bodyRate: nil
    )

    private let loop: EventLoop
    private let answer: Answer
    /// Called with each response that was sent completely.
    private let onAnswered: (@Sendable (Response) -> Void)?
    private var listener: Listener?
    private var connections: [ObjectIdentifier: DownstreamConnection] = [:]
    private var onDrained: (() -> Void)?

    init(
        _ socket: borrowing ListeningSocket,
        on loop: EventLoop,
        answer: @escaping Answer,
        onAnswered: (@Sendable (Response) -> Void)? = nil
    ) throws(IOError) {
        self.loop = loop
        self.answer = answer
        self.onAnswered = onAnswered
        listener = try Listener(socket, on: loop, usesReserve: true) {
            [unowned self] in serve($0)
        }
    }

    private func serve(_ socket: StreamSocket) {
        let connection = DownstreamConnection(
            socket,
            bounds: LocalServer.bounds
        )
        connections[ObjectIdentifier(connection)] = connection
        let bound = LoopBound((server: self, connection: connection), on: loop)
        // One task for the connection's life, which never leaves the loop.
        let task = Task(executorPreference: loop) {
            let (server, connection) = bound.value
            await server.run(connection)
        }
        socket.onPeerClosed = { task.cancel() }
    }

    private func run(_ connection: DownstreamConnection) async {
        do {
            while try await connection.nextHead(), let head = connection.reader?.head {
                guard try await handle(head, connection) else { break }
            }
        } catch let error as HTTP1Error {
            await refuse(connection.unreadHead, NetworkError(error), connection)
        } catch {
            // The peer is gone or too slow: no answer is possible.
        }
        await connection.end()
        connections[ObjectIdentifier(connection)] = nil
        if connections.isEmpty { onDrained?() }
    }

    private func refuse(
        _ head: RequestHead,
        _ reason: NetworkError,
        _ connection: DownstreamConnection
    ) async {
        let response = ErrorResponder.response(to: reason, channel: nil, requestID: "")
        var writer = ResponseWriter(response, to: head, .close, on: connection)
        try? await writer.write()
        await connection.closeAfterLingering()
    }

    /// Answers one request.
    ///
    /// - Returns: whether another may follow.
    private func handle(
        _ head: RequestHead,
        _ connection: DownstreamConnection
    ) async throws -> Bool {
        let body: ByteSlice
        do {
            body = try await connection.requestBody(head.framing)
                .collect(upTo: LocalServer.bodyLimit)
        } catch let error as NetworkError where error.kind != .cancelled {
            await refuse(head, LocalServer.refusal(error), connection)
            return false
        }
        let response = await answer(
            Call(
                method: head.method,
                target: head.target,
                headers: head.headers,
                host: head.host,
                body: body
            )
        )
        // An endless answer lasts as long as the peer reads, however slowly.
        if case .stream(_, nil) = response.body { connection.request.idleTimeout = nil }
        var writer = ResponseWriter(response, to: head, head.persistence, on: connection)
        try await writer.write()
        onAnswered?(response)
        if !writer.persists { await connection.closeAfterLingering() }
        return writer.persists
    }

    /// The error for content that was not read to its end.
    private static func refusal(_ error: NetworkError) -> NetworkError {
        guard error.kind == .httpResponseBodySize else { return error }
        return NetworkError(
            .httpRequestError,
            side: .downstream,
            detail: "the request's content is longer than the \(bodyLimit) bytes that are accepted",
            status: 413
        )
    }

    /// Accepts no more, and calls `completion` when all open connections have ended.
    func drain(_ completion: @escaping () -> Void) {
        listener?.close()
        listener = nil
        onDrained = completion
        for connection in connections.values { connection.drain() }
        if connections.isEmpty { completion() }
    }

    /// Accepts no more and ends all open connections.
    func close() {
        listener?.close()
        listener = nil
        for connection in connections.values { connection.socket.abort() }
    }
}

extension LoopBound {
    /// Returns the value of a result that was made on the loop, or throws its error.
    func unwrapped<Success>() async throws -> LoopBound<Success>
    where Value == Result<Success, any Error> {
        try await withCheckedThrowingContinuation { continuation in
            loop.submit {
                continuation.resume(with: value.map { LoopBound<Success>($0, on: loop) })
            }
        }
    }
}
