import NetproxyBytes
import NetproxyEventIO
import Synchronization

/// One end of a TCP connection that a test controls by sending and receiving raw bytes.
///
/// Every wait ends after `patience`. Only the framing of messages is interpreted.
package final class Wire: Sendable {
    /// The maximum wait, far longer than necessary.
    package static let patience = Duration.seconds(30)

    /// The way in which a connection ended.
    package enum End: Sendable {
        case closed
        case reset
    }

    /// The index among the connections of an origin.
    package let number: Int
    /// Opened when the origin's script, and with it the connection, has ended.
    package let closed = Gate()
    private let stream: LoopBound<WireStream>
    private let arrived: Arrived
    private let parsed = Mutex<[RawMessage]>([])

    init(_ stream: LoopBound<WireStream>, number: Int) {
        self.stream = stream
        self.number = number
        arrived = stream.value.arrived
    }

    deinit {
        let stream = stream
        stream.loop.submit { stream.value.socket.close() }
    }

    /// The text received so far.
    package var received: String { String(decoding: receivedBytes, as: UTF8.self) }

    /// The bytes received so far.
    package var receivedBytes: [UInt8] { arrived.bytes.withLock { $0 } }

    /// The complete messages taken so far.
    package var messages: [RawMessage] { parsed.withLock { $0 } }

    // MARK: - Sending

    /// Sends text.
    package func send(_ text: String) async throws {
        try await send(Array(text.utf8))
    }

    /// Sends bytes.
    package func send(_ bytes: [UInt8]) async throws {
        try await onLoop { try await $0.write(bytes) }
    }

    /// Sends bytes one by one.
    package func trickle(_ bytes: [UInt8]) async throws {
        try await onLoop { stream in
            for byte in bytes { try await stream.write([byte]) }
        }
    }

    /// Sends pieces until none is accepted for half a second, or `limit` bytes were sent.
    ///
    /// - Returns: the number of bytes in whole pieces accepted.
    package func flood(_ piece: String, upTo limit: Int) async throws -> Int {
        try await onLoop { stream in
            let output = OutputBuffer(capacity: piece.utf8.count)
            output.append(piece)
            var sent = 0
            do throws(IOError) {
                while sent < limit {
                    let loop = stream.socket.loop
                    try await stream.socket.write(
                        output,
                        until: loop.deadline(after: .milliseconds(500))
                    )
                    sent += output.count
                }
            } catch {
                guard error == .timedOut else { throw error }
            }
            return sent
        }
    }

    /// Sends the end of the stream; reading is still possible.
    package func finishWriting() async throws {
        try await onLoop { $0.socket.shutdownWriting() }
    }

    /// Closes the connection.
    package func close() async throws {
        try await onLoop { $0.socket.close() }
    }

    /// Closes the connection with a reset.
    package func reset() async throws {
        try await onLoop { $0.socket.reset() }
    }

    // MARK: - Receiving

    /// Takes the next complete message; `nil` at the end of the stream.
    package func next(_ content: RawContent = .asFramed) async throws -> RawMessage? {
        let message = try await take { RawParser.message(in: $0, content) }
        if let message { parsed.withLock { $0.append(message) } }
        return message
    }

    /// Takes the next complete message.
    ///
    /// - Throws: `WireError.ended` at the end of the stream.
    package func message(_ content: RawContent = .asFramed) async throws -> RawMessage {
        guard let message = try await next(content) else { throw WireError.ended }
        return message
    }

    /// Takes bytes up to the end of the first `text`.
    ///
    /// - Throws: `WireError.ended` if the stream ends without it.
    @discardableResult
    package func read(through text: String) async throws -> String {
        let pattern = Array(text.utf8)
        let found: String? = try await take { bytes in
            guard let index = RawParser.find(pattern, in: bytes, from: 0) else { return nil }
            let count = index + pattern.count
            return (String(decoding: bytes[..<count], as: UTF8.self), count)
        }
        guard let found else { throw WireError.ended }
        return found
    }

    /// Takes all bytes to the end of the stream.
    @discardableResult
    package func rest() async throws -> (text: String, end: End) {
        try await onLoop { stream in
            while stream.end == nil { try await stream.fill() }
            let text = String(decoding: stream.unread, as: UTF8.self)
            stream.unread = []
            return (text, stream.end ?? .closed)
        }
    }

    /// Takes the available or the next bytes; `nil` at the end of the stream.
    package func bytes() async throws -> [UInt8]? {
        try await take { bytes in bytes.isEmpty ? nil : (bytes, bytes.count) }
    }

    private func take<Result: Sendable>(
        _ parse: @escaping @Sendable ([UInt8]) -> (Result, Int)?
    ) async throws -> Result? {
        try await onLoop { stream in
            while true {
                if let (result, count) = parse(stream.unread) {
                    stream.unread.removeFirst(count)
                    return result
                }
                if stream.end != nil { return nil }
                try await stream.fill()
            }
        }
    }

    private func onLoop<Result: Sendable>(
        _ body: @escaping @Sendable (WireStream) async throws -> Result
    ) async throws -> Result {
        let stream = stream
        // In a separate task, because a socket is used only on its loop.
        let task = Task(executorPreference: stream.loop) { try await body(stream.value) }
        return try await task.value
    }
}

/// The reason why a story cannot continue.
package enum WireError: Error {
    /// Nothing happened within `Wire.patience`.
    case timedOut
    /// The stream ended too early.
    case ended
}
