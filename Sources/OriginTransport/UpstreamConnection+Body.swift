import Bytes
import EventIO
import HTTP1
import HTTPMessage
import NetworkCore
import Synchronization

extension UpstreamConnection {
    /// The next piece of the response's content, and the end of the exchange after the last.
    func nextPiece(of exchange: Int, for source: UpstreamBody) async throws -> ByteSlice? {
        guard exchange == self.exchange, body != nil else { return nil }
        do {
            while true {
                guard var decoder = body else { return nil }
                let event = try buffer.withSpan { try decoder.next($0) }
                body = decoder
                switch event {
                case .data(let skip, let count):
                    buffer.consume(skip)
                    return buffer.take(count)
                case .end(let consumed):
                    buffer.consume(consumed)
                    source.end(with: decoder.trailers)
                    finish()
                    return nil
                case .needMore(let consumed):
                    buffer.consume(consumed)
                    try await readBody()
                    if body == nil { return nil }
                }
            }
        } catch {
            body = nil
            close()
            // The upload failed first, and took the connection with it.
            if let uploadFault { throw uploadFault }
            switch error {
            case let error as HTTP1Error:
                throw FaultTable.error(error, from: pool.origin.authority)
            case let error as IOError: throw fault(error, in: .readingBody)
            default: throw error
            }
        }
    }

    private func readBody() async throws {
        guard try await readSome() == 0 else { return }
        guard var decoder = body else { return }
        do {
            try decoder.endOfStream()
        } catch {
            throw IOError.closedByPeer
        }
        // Delimited by the end of the connection: the exchange is complete.
        finish()
    }

    /// Reads some of the content; an origin may be silent while it takes an upload, which has
    /// deadlines of its own.
    private func readSome() async throws(IOError) -> Int {
        while true {
            do throws(IOError) {
                return try await read(
                    minimum: readSize,
                    until: loop.deadline(after: pool.options.idleTimeout)
                )
            } catch {
                guard error == .timedOut, isUploading else { throw error }
            }
        }
    }

    /// How much is read at once: TLS gives no more than a record of 16 KiB.
    private var readSize: Int {
        let isLong = (body?.remaining ?? 0) > Slab.standardCapacity
        return isLong && !socket.isEncrypted ? Slab.largeCapacity : Slab.standardCapacity
    }

    /// What is here of the response's content already; nothing if one has to wait.
    func piece(of exchange: Int) -> ByteSlice? {
        guard exchange == self.exchange, !buffer.isEmpty, let rest = body?.remaining else {
            return nil
        }
        guard rest > buffer.count, var decoder = body,
            case .data(skip: 0, let count)? = try? buffer.withSpan({ try decoder.next($0) })
        else { return nil }
        body = decoder
        return buffer.take(count)
    }

    /// Sends a streamed body.
    ///
    /// A fault of the source ends the exchange; one of the origin does not, since it may have
    /// answered already.
    func upload(_ source: any BodySource, length: Int?) async {
        let output = loop.outputs.take()
        defer { loop.outputs.give(output) }
        let isChunked = length == nil
        var left = length ?? .max
        do {
            try Task.checkCancellation()
            while let piece = try await source.next() {
                // An empty chunk would be the last one.
                if piece.count == 0 { continue }
                left -= piece.count
                guard left >= 0 else { throw UpstreamConnection.wrongLength }
                output.removeAll()
                if isChunked {
                    HeadEncoder.chunkHeader(count: piece.count, into: output)
                    output.append(piece.span)
                    HeadEncoder.chunkEnd(into: output)
                    try await write(output, nil)
                } else {
                    try await write(output, piece)
                }
                try Task.checkCancellation()
            }
            if isChunked {
                output.removeAll()
                HeadEncoder.lastChunk(trailers: nil, into: output)
                try await write(output, nil)
            } else if left > 0 {
                throw UpstreamConnection.wrongLength
            }
            isUploading = false
        } catch is CancellationError {
            return
        } catch let error as UploadFault {
            if isAnswering { return giveUpUpload() }
            guard error.fault == .timedOut else {
                // Its answer may be here all the same, and from now on has a deadline.
                if isUploading { source.cancel() }
                return giveUpUpload()
            }
            uploadFault = fault(.timedOut, in: .sending)
            socket.abort()
        } catch {
            if isAnswering, UpstreamConnection.isTimeout(error) { return giveUpUpload() }
            uploadFault = error
            socket.abort()
        }
    }

    /// Whether the content of the answer is on its way.
    private var isAnswering: Bool { body != nil }

    /// The rest is not sent, and the answer goes on: who is slow now may wait for it.
    private func giveUpUpload() {
        isUploading = false
        mayReuse = false
    }

    private static func isTimeout(_ error: any Error) -> Bool {
        let kind = (error as? NetworkError)?.kind
        return kind == .connectionReadTimeout || kind == .requestBodyTimeout
    }

    /// What a source that breaks its word would do to the next request on the connection.
    private static var wrongLength: NetworkError {
        NetworkError(
            .httpRequestError,
            side: .downstream,
            detail: "the body has another length than was announced"
        )
    }

    private struct UploadFault: Error {
        let fault: IOError
    }

    /// Writes a piece of the body; a cancelled task ends the wait for the kernel, and only that: the
    /// answer may be on its way.
    private func write(_ output: OutputBuffer, _ piece: ByteSlice?) async throws {
        var piece = piece
        do throws(IOError) {
            guard let written = try socket.writeNow(output, &piece) else { return }
            let deadline = loop.deadline(after: pool.options.idleTimeout)
            let bound = LoopBound(socket, on: loop)
            let fault = await withTaskCancellationHandler {
                await socket.settleWritten(output, piece, from: written, until: deadline)
            } onCancel: {
                bound.loop.submit { bound.value.cancelWrite() }
            }
            if let fault { throw fault }
        } catch {
            throw UploadFault(fault: error)
        }
    }
}

/// The content of a response, as it comes from its connection.
///
/// Dropped unread, it closes it.
final class UpstreamBody: BodySource {
    private let connection: LoopBound<UpstreamConnection>
    private let exchange: Int
    private let end = Mutex<HTTPHeaders?>(nil)

    init(_ connection: LoopBound<UpstreamConnection>, exchange: Int) {
        self.connection = connection
        self.exchange = exchange
    }

    deinit {
        cancel()
    }

    func next() async throws -> ByteSlice? {
        try await connection.value.nextPiece(of: exchange, for: self)
    }

    func buffered() -> ByteSlice? { connection.value.piece(of: exchange) }

    func trailers() -> HTTPHeaders? { end.withLock { $0 } }

    func end(with trailers: HTTPHeaders?) {
        guard let trailers else { return }
        end.withLock { $0 = trailers }
    }

    func cancel() {
        if connection.loop.isCurrent {
            connection.value.cancelBody(of: exchange)
        } else {
            let (connection, exchange) = (connection, exchange)
            connection.loop.submit { connection.value.cancelBody(of: exchange) }
        }
    }
}
