import NetproxyBytes
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import OriginTransport

/// One request on a connection to the admin socket, and its response.
///
/// Not `Sendable`: it never leaves its loop.
final class AdminConnection {
    /// The maximum silence of the daemon before a response, or within a response that has an end.
    private static let patience = Duration.seconds(120)
    /// The maximum time until the response to a request that changes nothing.
    private static let shortPatience = Duration.seconds(10)

    let status: Int
    /// Whether the response lasts until the connection closes.
    let isEndless: Bool
    private let loop: EventLoop
    private let socket: StreamSocket
    private let buffer: ReadBuffer
    private var body: BodyReader

    private init(
        _ head: ResponseHead,
        _ buffer: ReadBuffer,
        _ socket: StreamSocket,
        _ loop: EventLoop
    ) {
        status = head.status.rawValue
        isEndless = head.framing == .chunked
        body = BodyReader(head.framing)
        self.buffer = buffer
        self.socket = socket
        self.loop = loop
    }

    /// Closes the connection.
    func close() {
        socket.close()
    }

    /// Connects, sends the request and returns after the response head has arrived.
    static func open(
        _ method: HTTPMethod,
        _ target: String,
        at address: SocketAddress,
        on loop: EventLoop
    ) async throws -> AdminConnection {
        let deadline = loop.deadline(after: method == .get ? shortPatience : patience)
        let socket = try await Dialer.connect(to: address, on: loop, until: deadline)
        do {
            return try await ask(method, target, socket, loop, until: deadline)
        } catch {
            socket.close()
            throw error
        }
    }

    private static func ask(
        _ method: HTTPMethod,
        _ target: String,
        _ socket: StreamSocket,
        _ loop: EventLoop,
        until deadline: UInt64
    ) async throws -> AdminConnection {
        let output = OutputBuffer()
        HeadEncoder.encodeRequest(
            method: method,
            target: target,
            host: "localhost",
            headers: ["Netproxy-Admin": "1"],
            framing: .none,
            connection: .close,
            into: output
        )
        try await socket.write(output, until: deadline)
        let buffer = ReadBuffer()
        var reader = ResponseReader()
        let head = try await reader.readHead(
            from: socket,
            into: buffer,
            answering: method,
            until: deadline
        )
        return AdminConnection(head, buffer, socket, loop)
    }

    /// Returns the next bytes of the response, or `nil` at its end.
    func next() async throws -> [UInt8]? {
        while true {
            switch try body.next(from: buffer) {
            case .piece(let piece): return piece.array
            case .end: return nil
            case .needMore:
                let deadline = loop.deadline(after: AdminConnection.patience)
                guard try await socket.read(into: buffer, until: deadline) > 0 else {
                    try body.endOfStream()
                    return nil
                }
            }
        }
    }
}
