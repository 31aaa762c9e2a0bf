import Bytes
import EventIO
import NetworkCore

/// Carries bytes both ways between an app and another end until both have said theirs: what remains of
/// a proxy after 101 and after CONNECT.
///
/// Each direction holds one piece, of a slab at most, and reads the next when that is gone. Runs on
/// one loop; not `Sendable`.
final class Tunnel {
    private let loop: EventLoop
    private let idleTimeout: Duration?
    private var lastMove: UInt64
    private(set) var bytesIn = 0
    private(set) var bytesOut = 0
    /// Why it ended, unless both ends came to theirs.
    private(set) var failure: NetworkError?

    /// Which way bytes go.
    private enum Direction {
        case toUpstream, toApp
    }

    init(on loop: EventLoop, idleTimeout: Duration?) {
        self.loop = loop
        self.idleTimeout = idleTimeout
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
                    ?? NetworkError(.proxyInternalError, side: .proxy, detail: "\(error)")
            }
            // Ends the other direction's waits, too.
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
                guard loop.now < lastMove &+ (idleTimeout ?? .zero).nanoseconds else {
                    throw NetworkError(
                        .connectionReadTimeout,
                        side: .proxy,
                        detail: "nothing moved in the tunnel for too long"
                    )
                }
            }
        }
    }
}
