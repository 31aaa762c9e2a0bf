import NetproxyBytes
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyLiveObjects
import NetworkCore
import OriginTransport

/// Copies bytes in both directions between a client and an upstream until both sides close, as a proxy
/// does after 101 and after CONNECT.
///
/// Each direction holds one piece, of at most a slab, and reads the next one after writing it. A tunnel
/// runs on one loop; not `Sendable`.
final class Tunnel {
    private let loop: EventLoop
    private let idle: TimeSetting
    private var lastMove: UInt64
    private(set) var bytesIn = 0
    private(set) var bytesOut = 0
    /// The error that ended the tunnel, unless both ends closed it.
    private(set) var failure: NetworkError?
    private let life = LiveObject(Tunnel.self)

    /// The direction of a copy.
    private enum Direction {
        case toUpstream, toApp
    }

    init(on loop: EventLoop, idle: TimeSetting) {
        self.loop = loop
        self.idle = idle
        lastMove = loop.now
    }

    /// Runs the tunnel until it ends, and closes both streams.
    func run(app: any DuplexStream, upstream: any DuplexStream) async {
        let bound = LoopBound(self, on: loop)
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await bound.value.pump(.toUpstream, from: app, to: upstream) }
            group.addTask { await bound.value.pump(.toApp, from: upstream, to: app) }
        }
        app.close()
        upstream.close()
    }

    private func pump(
        _ direction: Direction,
        from source: any DuplexStream,
        to sink: any DuplexStream
    ) async {
        do {
            while let piece = try await nextPiece(from: source) {
                lastMove = loop.now
                try await sink.write(piece)
                lastMove = loop.now
                switch direction {
                case .toUpstream: bytesIn += piece.count
                case .toApp: bytesOut += piece.count
                }
            }
            // The other direction may continue: a half-closed tunnel is still open.
            sink.finishWriting()
        } catch {
            if failure == nil {
                failure =
                    error as? NetworkError
                    ?? NetworkError(.internalError, side: .proxy, detail: "\(error)")
            }
            // Closing also ends the waits of the other direction.
            source.close()
            sink.close()
        }
    }

    /// Reads the next piece; a direction may be silent while the other is active.
    private func nextPiece(from source: any DuplexStream) async throws -> ByteSlice? {
        while true {
            do {
                return try await source.read()
            } catch let error as NetworkError where error.kind == .connectionReadTimeout {
                guard loop.now < lastMove &+ (idle.value ?? .zero).nanoseconds else {
                    throw NetworkError.timeout(.tunnel, after: idle)
                }
            }
        }
    }
}

/// The head that turns a client's connection into a tunnel.
struct TunnelOpening {
    /// The status: 101, or 200 for CONNECT.
    let status: HTTPStatus
    private var headers: HTTPHeaders
    /// The new protocol after a 101.
    let upgrade: String?

    /// Creates the response to an upgrade from the upstream's response.
    init(switching response: Response) {
        status = response.status
        headers = response.headers
        upgrade = response.headers[.upgrade]
        headers.remove(HTTPFieldName.upgrade)
    }

    /// The response to CONNECT (RFC 9110 §9.3.6).
    static var connected: TunnelOpening { TunnelOpening() }

    private init() {
        status = 200
        headers = HTTPHeaders()
        upgrade = nil
    }

    /// Writes the last head of the connection.
    ///
    /// - Throws: `NetworkError` on the downstream side.
    func write(to app: DownstreamConnection) async throws(NetworkError) {
        let output = app.loop.outputs.take()
        defer { app.loop.outputs.give(output) }
        if let upgrade {
            var hop = HTTPHeaders()
            hop.append(.connection, validated: "Upgrade")
            hop.append(.upgrade, validated: upgrade)
            HeadEncoder.encodeInformational(
                status: status,
                headers: headers,
                hopFields: hop,
                into: output
            )
        } else {
            HeadEncoder.encodeResponse(
                status: status,
                headers: headers,
                framing: .none,
                into: output
            )
        }
        try await app.send(output)
    }

    /// Returns the client's end of the tunnel, with the bytes that arrived before the response.
    static func stream(to app: DownstreamConnection, idleTimeout: Duration?) -> SocketStream {
        let socket = app.socket
        // From now on, a half-closed connection has not ended.
        socket.onPeerClosed = nil
        return SocketStream(
            socket,
            buffer: app.buffer.moved(),
            side: .downstream,
            idleTimeout: idleTimeout,
            // The connection's task closes the socket.
            onClose: { socket.abort() }
        )
    }
}
