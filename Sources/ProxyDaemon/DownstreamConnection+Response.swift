import Bytes
import EventIO
import HTTP1
import HTTPMessage
import NetworkCore

extension DownstreamConnection {
    /// What became of a response.
    struct Delivery {
        /// Content bytes that went to the app.
        var bytesOut = 0
        /// Whether another request may follow on the connection.
        var mayContinue = false
    }

    /// Writes a response and its content.
    ///
    /// - Throws: `DeliveryError` with what was written before the fault.
    func write(
        _ response: Response,
        to head: RequestHead,
        mayContinue wanted: Bool
    ) async throws(DeliveryError) -> Delivery {
        let output = loop.outputs.take()
        defer { loop.outputs.give(output) }
        var delivery = Delivery()
        let isOld = head.version == .http10
        var framing: BodyFraming
        var announced = response.announcedLength
        switch response.body {
        case .empty, .tunnel:
            framing = hasNoContent(response.status, head.method) ? .none : .length(0)
        case .bytes where response.status == 204: framing = .none
        case .bytes(let bytes): framing = .length(bytes.count)
        case .stream(_, let length?): framing = .length(length)
        case .stream(_, nil): framing = isOld ? .untilClose : .chunked
        }
        if announced != nil { framing = .none }
        if response.status == 204 || response.status.kind == .informational { announced = nil }
        let mayContinue = wanted && isRequestComplete && framing != .untilClose && !isDraining
        HeadEncoder.encodeResponse(
            status: response.status,
            headers: response.headers,
            framing: framing,
            announcedLength: announced,
            connection: mayContinue ? (isOld ? .keepAlive : .persistent) : .close,
            into: output
        )
        do {
            switch response.body {
            case .empty, .tunnel: try await send(output, nil)
            case .bytes where hasNoContent(response.status, head.method),
                .stream where hasNoContent(response.status, head.method):
                // Our own answer to HEAD, or a stub's: any content would be read as the next response.
                response.body.cancel()
                try await send(output, nil)
            case .bytes(let bytes):
                try await send(output, bytes)
                delivery.bytesOut = bytes.count
            case .stream(let source, let length):
                // With the head goes what came with it: one system call, one packet.
                let first = framing == .chunked ? nil : source.buffered()
                try await send(output, first)
                delivery.bytesOut = first?.count ?? 0
                try await stream(source, length, isChunked: framing == .chunked, output, &delivery)
                if framing == .chunked {
                    output.removeAll()
                    // RFC 9110 §6.5.1: only to an app that said it would look at them.
                    let trailers = takesTrailers ? source.trailers() : nil
                    HeadEncoder.lastChunk(trailers: trailers, into: output)
                    try await send(output, nil)
                }
            }
        } catch {
            response.body.cancel()
            throw DeliveryError(bytesOut: delivery.bytesOut, cause: error)
        }
        delivery.mayContinue = mayContinue
        return delivery
    }

    private func stream(
        _ source: any BodySource,
        _ length: Int?,
        isChunked: Bool,
        _ output: OutputBuffer,
        _ delivery: inout Delivery
    ) async throws {
        var left = (length ?? .max) - delivery.bytesOut
        while let piece = try await source.next() {
            // An empty chunk would be the last one.
            if piece.count == 0 { continue }
            left -= piece.count
            guard left >= 0 else { break }
            output.removeAll()
            if isChunked {
                HeadEncoder.chunkHeader(count: piece.count, into: output)
                output.append(piece.span)
                HeadEncoder.chunkEnd(into: output)
                try await send(output, nil)
            } else {
                try await send(output, piece)
            }
            delivery.bytesOut += piece.count
        }
        guard length == nil || left == 0 else {
            // The next answer would begin in the middle of this one, or the other way round.
            throw NetworkError(
                .proxyInternalError,
                side: .proxy,
                detail: "the content has another length than was announced"
            )
        }
    }

    /// Writes bytes, and a piece of content behind them.
    func send(_ output: OutputBuffer, _ body: ByteSlice?) async throws {
        do throws(IOError) {
            try await socket.write(output, body, until: loop.deadline(after: idleTimeout))
        } catch {
            throw error == .timedOut
                ? NetworkError(
                    .connectionWriteTimeout,
                    side: .downstream,
                    detail: "the app stopped reading the response"
                )
                : NetworkError(
                    .cancelled,
                    side: .downstream,
                    detail: "the app went away before the end"
                )
        }
    }

    private func hasNoContent(_ status: HTTPStatus, _ method: HTTPMethod) -> Bool {
        status == 204 || status == 304 || method == .head
    }
}

/// A response that did not reach the app as a whole.
struct DeliveryError: Error {
    let bytesOut: Int
    let cause: any Error
}
