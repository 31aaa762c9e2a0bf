import NetproxyBytes
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetworkCore

/// The content of the response.
extension UpstreamConnection {
    /// The next piece of the response's content, and the end of the exchange after the last.
    func nextPiece(of exchange: Int, for source: UpstreamBody) async throws -> ByteSlice? {
        guard exchange == self.exchange, body != nil else { return nil }
        do {
            // Pieces that are here already meet no timer.
            guard bodyLimit == .max || loop.now < bodyLimit else { throw IOError.timedOut }
            while body != nil {
                switch try body?.next(from: buffer) {
                case .piece(let piece): return piece
                case .needMore: try await readBody()
                case .end:
                    source.end(with: body?.trailers)
                    finish()
                case nil: break
                }
            }
            return nil
        } catch {
            body = nil
            close()
            // The upload failed first, and took the connection with it.
            if let fault = upload?.fault { throw fault }
            switch error {
            case _ where bodyLimit <= loop.now:
                throw NetworkError.timeout(.total, after: bodySetting)
            case let error as HTTP1Error:
                throw FaultTable.error(error, from: peer.origin.authority)
            case let error as IOError: throw fault(error, in: .readingBody)
            default: throw error
            }
        }
    }

    private func readBody() async throws {
        guard try await readSome() == 0 else { return }
        do throws(HTTP1Error) {
            try body?.endOfStream()
        } catch {
            throw IOError.closedByPeer
        }
        // Delimited by the end of the connection: the exchange is complete.
        finish()
    }

    /// Reads some of the content; an origin may be silent while it takes an upload, which has
    /// its own deadlines.
    private func readSome() async throws(IOError) -> Int {
        while true {
            do throws(IOError) {
                return try await read(
                    minimum: readSize,
                    until: min(loop.deadline(after: peer.options.idleTimeout), bodyLimit)
                )
            } catch {
                guard error == .timedOut, isUploading, loop.now < bodyLimit else { throw error }
            }
        }
    }

    /// How much is read at once: TLS gives no more than a record of 16 KiB.
    private var readSize: Int {
        let isLong = (body?.remaining ?? 0) > Slab.standardCapacity
        return isLong && !socket.isEncrypted ? Slab.largeCapacity : Slab.standardCapacity
    }

    /// Content that takes no wait, or nil; its end and every fault are left to `nextPiece`.
    func piece(of exchange: Int, orFromSocket reads: Bool = false) -> ByteSlice? {
        guard exchange == self.exchange, let rest = body?.remaining,
            bodyLimit == .max || loop.now < bodyLimit
        else { return nil }
        if buffer.isEmpty {
            guard reads, rest > 0, (try? socket.readNow(into: buffer, minimum: readSize)) ?? 0 > 0
            else { return nil }
        }
        let next = rest > buffer.count ? try? body?.next(from: buffer) : nil
        if case .piece(let piece)? = next { return piece }
        return nil
    }
}
