import Bytes
import EventIO
import HTTP1
import HTTPMessage

/// One request on a connection to the admin socket, and its answer as it arrives.
///
/// Not `Sendable`: it never leaves its loop.
final class AdminConnection {
    /// How long the daemon may be silent before an answer, or within one that has an end.
    private static let patience = Duration.seconds(120)
    /// How long the answer to a request that changes nothing may take.
    private static let shortPatience = Duration.seconds(10)

    let status: Int
    /// Whether the answer lasts as long as the connection.
    let isEndless: Bool
    private let loop: EventLoop
    private let socket: StreamSocket
    private let buffer: ReadBuffer
    private var decoder: BodyDecoder

    private init(
        _ head: ResponseHead,
        _ buffer: ReadBuffer,
        _ socket: StreamSocket,
        _ loop: EventLoop
    ) {
        status = head.status.rawValue
        isEndless = head.framing == .chunked
        decoder = BodyDecoder(head.framing)
        self.buffer = buffer
        self.socket = socket
        self.loop = loop
    }

    /// Ends the connection.
    func close() {
        socket.close()
    }

    /// Connects, sends the request and returns when the head of the answer has arrived.
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
        var decoder = ResponseHeadDecoder(limits: HTTP1Limits())
        while true {
            let decoded = try buffer.withSpan { bytes throws(HTTP1Error) in
                try decoder.decode(bytes, answering: method)
            }
            if let (head, consumed) = decoded {
                buffer.consume(consumed)
                return AdminConnection(head, buffer, socket, loop)
            }
            guard try await socket.read(into: buffer, until: deadline) > 0 else {
                throw IOError.closedByPeer
            }
        }
    }

    /// Returns the next bytes of the answer; `nil` at its end.
    func next() async throws -> [UInt8]? {
        while true {
            var decoder = decoder
            let event = try buffer.withSpan { span throws(HTTP1Error) in try decoder.next(span) }
            self.decoder = decoder
            switch event {
            case .data(let skip, let count):
                buffer.consume(skip)
                return buffer.take(count).array
            case .end(let consumed):
                buffer.consume(consumed)
                return nil
            case .needMore(let consumed):
                buffer.consume(consumed)
                let deadline = loop.deadline(after: AdminConnection.patience)
                guard try await socket.read(into: buffer, until: deadline) > 0 else {
                    try decoder.endOfStream()
                    return nil
                }
            }
        }
    }
}
