import Bytes
import EventIO
import FoundationEssentials
import HTTP1
import HTTPMessage
package import ProxyConfig

/// Asks a running daemon over its admin socket: what the commands are made of.
package struct AdminClient: Sendable {
    /// The daemon's answer.
    package struct Answer: Sendable {
        /// The status code.
        package let status: Int
        /// The body.
        package let text: String

        /// The words of a refusal, if the answer is one.
        package var problem: String? {
            struct Problem: Decodable { var detail: String }
            return (try? JSONDecoder().decode(Problem.self, from: Data(text.utf8)))?.detail
        }
    }

    /// No daemon answers there.
    package struct Unreachable: Error, CustomStringConvertible {
        /// Where, and why.
        package let description: String
    }

    private let address: AdminAddress

    /// Asks at the address that the configuration names.
    package init(_ address: AdminAddress) {
        self.address = address
    }

    /// A text as one segment of a path, percent-encoded where it is neither a letter nor a digit.
    package static func pathSegment(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            let character = Character(Unicode.Scalar(byte))
            if character.isASCII,
                character.isLetter || character.isNumber || "-._~".contains(character)
            {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Sends one request; given up after two minutes.
    ///
    /// - Throws: `Unreachable`.
    package func send(_ method: String, _ target: String) async throws -> Answer {
        let endpoint: SocketAddress?
        switch address {
        case .off: throw Unreachable(description: "the configuration says admin: off")
        case .unix(let path): endpoint = SocketAddress(unixPath: path)
        case .tcp(let place):
            endpoint = SocketAddress(ip: place.host, port: UInt16(clamping: place.port))
        }
        guard let endpoint else { throw Unreachable(description: "the admin address is unusable") }
        let loop = try EventLoop(index: 98)
        loop.start()
        defer { loop.stop() }
        do {
            // A task on the loop, for the life of one question.
            return try await Task(executorPreference: loop) {
                try await AdminClient.exchange(method, target, with: endpoint, on: loop)
            }.value
        } catch let error as IOError {
            throw Unreachable(description: "no daemon answers at \(endpoint): \(error)")
        }
    }

    private static func exchange(
        _ method: String,
        _ target: String,
        with address: SocketAddress,
        on loop: EventLoop
    ) async throws -> Answer {
        let deadline = loop.deadline(after: .seconds(120))
        let socket = try await Dialer.connect(to: address, on: loop, until: deadline)
        defer { socket.close() }
        let method = HTTPMethod(rawValue: method) ?? .get
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
        var buffer = ReadBuffer()
        var decoder = ResponseHeadDecoder(limits: HTTP1Limits())
        while true {
            let decoded = try buffer.withSpan { bytes throws(HTTP1Error) in
                try decoder.decode(bytes, answering: method)
            }
            if let (head, consumed) = decoded {
                buffer.consume(consumed)
                let body = try await body(head.framing, &buffer, socket, deadline)
                return Answer(
                    status: head.status.rawValue,
                    text: String(decoding: body, as: UTF8.self)
                )
            }
            guard try await socket.read(into: &buffer, until: deadline) > 0 else {
                throw IOError.closedByPeer
            }
        }
    }

    private static func body(
        _ framing: BodyFraming,
        _ buffer: inout ReadBuffer,
        _ socket: StreamSocket,
        _ deadline: UInt64
    ) async throws -> [UInt8] {
        var decoder = BodyDecoder(framing)
        var bytes: [UInt8] = []
        while true {
            let event = try buffer.withSpan { span throws(HTTP1Error) in try decoder.next(span) }
            switch event {
            case .data(let skip, let count):
                buffer.consume(skip)
                bytes.append(buffer.take(count).span)
            case .end(let consumed):
                buffer.consume(consumed)
                return bytes
            case .needMore(let consumed):
                buffer.consume(consumed)
                guard try await socket.read(into: &buffer, until: deadline) > 0 else {
                    try decoder.endOfStream()
                    return bytes
                }
            }
        }
    }
}
