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
        var opening = open(response, to: head, mayContinue: wanted)
        if try write(&opening) { return opening.delivery }
        return try await finish(response, opening)
    }

    /// The begin of a response on its way: the head, and what of the content goes with it.
    struct Opening {
        let output: OutputBuffer
        var content: ByteSlice?
        /// Whether that is all of the content, without a source; to compare that would copy it.
        let isWhole: Bool
        /// The content behind it, and how it is framed.
        let source: (any BodySource)?
        let framing: BodyFraming
        /// How many bytes went out; nothing once all did.
        var written: Int? = 0
        var delivery = Delivery()
    }

    /// Encodes the head.
    func open(
        _ response: Response,
        to head: RequestHead,
        mayContinue wanted: Bool
    ) -> Opening {
        beginAnswer()
        let output = loop.outputs.take()
        let isOld = head.version == .http10
        let isBare = hasNoContent(response.status, head.method)
        var framing: BodyFraming
        var content: ByteSlice?
        var isWhole = true
        var source: (any BodySource)?
        switch response.body {
        case .empty, .tunnel:
            framing = isBare ? .none : .length(0)
        case .bytes(let bytes):
            framing = .length(bytes.count)
            content = bytes
        case .stream(let stream, let length):
            framing = length.map { .length($0) } ?? (isOld ? .untilClose : .chunked)
            source = stream
            isWhole = isBare
        }
        // Our own answer to HEAD, or a stub's: any content would be read as the next response.
        if isBare {
            source?.cancel()
            (content, source) = (nil, nil)
        }
        var announced = response.announcedLength
        // RFC 9112 §6.1, RFC 9110 §8.6: 204 has neither a framing nor a length, be it announced.
        if response.status == 204 || response.status.kind == .informational {
            (framing, announced) = (.none, nil)
        } else if announced != nil {
            framing = .none
        }
        let mayContinue = wanted && isRequestComplete && framing != .untilClose && ending == .none
        HeadEncoder.encodeResponse(
            status: response.status,
            headers: response.headers,
            // RFC 9110 §6.6.1: who has a clock adds it.
            date: response.headers.contains(KnownField.date) ? nil : loop.wallNow / 1_000_000_000,
            framing: framing,
            announcedLength: announced,
            connection: mayContinue ? (isOld ? .keepAlive : .persistent) : .close,
            into: output
        )
        // With the head goes what came with it: one system call, one packet.
        if !isWhole, framing != .chunked { content = source?.buffered() }
        var opening = Opening(
            output: output,
            content: content,
            isWhole: isWhole,
            source: source,
            framing: framing
        )
        opening.delivery.mayContinue = mayContinue
        return opening
    }

    /// Writes what the kernel takes at once; true if that was the whole response.
    func write(_ opening: inout Opening) throws(DeliveryError) -> Bool {
        let count = opening.content?.count ?? 0
        var isPosted = false
        do throws(IOError) {
            if opening.isWhole, opening.delivery.mayContinue {
                isPosted = try socket.post(
                    opening.output,
                    opening.content,
                    until: loop.deadline(after: current.idleTimeout)
                )
            }
            if !isPosted {
                opening.written = try socket.writeNow(opening.output, &opening.content)
            }
        } catch {
            loop.outputs.give(opening.output)
            opening.source?.cancel()
            throw DeliveryError(isHeadOut: false, cause: DownstreamConnection.fault(error))
        }
        // What is sent at once may be lost at once; its output has gone back.
        if isPosted, let error = socket.lostPost {
            throw DeliveryError(isHeadOut: false, cause: DownstreamConnection.fault(error))
        }
        opening.delivery.bytesOut = count
        if isPosted { return true }
        guard opening.written == nil, opening.isWhole else { return false }
        loop.outputs.give(opening.output)
        return true
    }

    /// Writes the rest of a response.
    func finish(
        _ response: Response,
        _ opening: Opening
    ) async throws(DeliveryError) -> Delivery {
        let output = opening.output
        defer { loop.outputs.give(output) }
        var delivery = opening.delivery
        var isHeadOut = true
        do {
            if let written = opening.written {
                // What is on its way has not arrived.
                let count = delivery.bytesOut
                delivery.bytesOut = 0
                isHeadOut = written > 0
                try await send(output, opening.content, from: written)
                delivery.bytesOut = count
                isHeadOut = true
            }
            if let source = opening.source {
                let isChunked = opening.framing == .chunked
                try await stream(source, opening.framing, output, &delivery)
                if isChunked {
                    output.removeAll()
                    // RFC 9110 §6.5.1: only to an app that said it would look at them.
                    let trailers = current.takesTrailers ? source.trailers() : nil
                    HeadEncoder.lastChunk(trailers: trailers, into: output)
                    try await send(output, nil)
                }
            }
        } catch {
            response.body.cancel()
            throw DeliveryError(isHeadOut: isHeadOut, bytesOut: delivery.bytesOut, cause: error)
        }
        return delivery
    }

    private func stream(
        _ source: any BodySource,
        _ framing: BodyFraming,
        _ output: OutputBuffer,
        _ delivery: inout Delivery
    ) async throws {
        var left = Int.max
        if case .length(let length) = framing { left = length - delivery.bytesOut }
        let isBounded = left < .max
        while let piece = try await source.next() {
            // An empty chunk would be the last one.
            if piece.count == 0 { continue }
            left -= piece.count
            guard left >= 0 else { break }
            output.removeAll()
            if framing == .chunked {
                HeadEncoder.chunkHeader(count: piece.count, into: output)
                output.append(piece.span)
                HeadEncoder.chunkEnd(into: output)
                try await send(output, nil)
            } else {
                try await send(output, piece)
            }
            delivery.bytesOut += piece.count
        }
        guard !isBounded || left == 0 else {
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
        var body = body
        do throws(IOError) {
            guard let written = try socket.writeNow(output, &body) else { return }
            try await socket.write(output, body, from: written, idle: current.idleTimeout)
        } catch {
            throw DownstreamConnection.fault(error)
        }
    }

    private func send(_ output: OutputBuffer, _ body: ByteSlice?, from offset: Int) async throws {
        do throws(IOError) {
            try await socket.write(output, body, from: offset, idle: current.idleTimeout)
        } catch {
            throw DownstreamConnection.fault(error)
        }
    }

    private static func fault(_ error: IOError) -> NetworkError {
        error == .timedOut
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

    private func hasNoContent(_ status: HTTPStatus, _ method: HTTPMethod) -> Bool {
        status == 204 || status == 304 || method == .head
    }
}

/// A response that did not reach the app as a whole.
struct DeliveryError: Error {
    /// Whether any of the head is on its way to the app.
    var isHeadOut = true
    /// Content bytes that went to the app.
    var bytesOut = 0
    let cause: any Error
}
