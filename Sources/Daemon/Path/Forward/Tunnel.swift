import NetproxyBytes
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyLiveObjects
import NetworkCore
import OriginTransport

/// Carries bytes both ways between an app and another end until both sides close: all that a proxy does
/// after 101 and after CONNECT.
///
/// Each direction holds one piece, of a slab at most, and reads the next one after that is written. Runs
/// on one loop; not `Sendable`.
final class Tunnel {
    private let loop: EventLoop
    private let idle: TimeSetting
    private var lastMove: UInt64
    private(set) var bytesIn = 0
    private(set) var bytesOut = 0
    /// Why it ended, unless both ends closed it.
    private(set) var failure: NetworkError?
    private let life = LiveObject(Tunnel.self)

    /// Which way bytes go.
    private enum Direction {
        case toUpstream, toApp
    }

    init(on loop: EventLoop, idle: TimeSetting) {
        self.loop = loop
        self.idle = idle
        lastMove = loop.now
    }

    /// Returns when the tunnel has ended; both streams are closed then.
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
            // The other direction may go on: half-closed is not closed.
            sink.finishWriting()
        } catch {
            if failure == nil {
                failure =
                    error as? NetworkError
                    ?? NetworkError(.internalError, side: .proxy, detail: "\(error)")
            }
            // Also ends the waits of the other direction.
            source.close()
            sink.close()
        }
    }

    /// A direction may be silent for as long as the other one is not.
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

/// The head that turns an app's connection into a tunnel.
struct TunnelOpening {
    /// 101, or 200 for CONNECT.
    let status: HTTPStatus
    private var headers: HTTPHeaders
    /// The protocol that 101 switches to.
    let upgrade: String?

    /// The response to an upgrade, as the upstream gave it.
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
    /// - Throws: `NetworkError` on the app's side.
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

    /// The app's end of the tunnel, with what it sent before the response.
    static func stream(to app: DownstreamConnection, idleTimeout: Duration?) -> SocketStream {
        let socket = app.socket
        // From here on a half-closed connection is not the end.
        socket.onPeerClosed = nil
        return SocketStream(
            socket,
            buffer: app.buffer.moved(),
            side: .downstream,
            idleTimeout: idleTimeout,
            // The connection's task closes it.
            onClose: { socket.abort() }
        )
    }
}
