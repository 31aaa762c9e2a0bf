package import NetproxyBytes
package import NetproxyHTTPMessage

/// A validated response head.
package struct ResponseHead: Sendable {
    package var status: HTTPStatus
    package var version: HTTP1Version
    package var headers: HTTPHeaders
    package var framing: BodyFraming
    /// Whether the head allows the connection to be reused.
    package var keepAlive: Bool
    /// The Content-Length of a response without a body: a response to HEAD, or 304.
    package var announcedLength: Int?
}

/// Decodes the bytes of a response head into a `ResponseHead`, or refuses them (RFC 9112 §4, §6.3).
///
/// Interim responses (1xx) are returned like any other; the caller continues until the final one.
package struct ResponseHeadDecoder: Sendable {
    /// Space in the header bytes for added fields.
    private static let spare = 256
    private var lines: LineScanner

    package init(limits: HTTP1Limits = HTTP1Limits()) {
        lines = LineScanner(.statusLine, limits: limits)
    }

    /// Decodes the head at the start of `bytes`; `consumed` is its length.
    ///
    /// If the result is `nil`, call again with the same bytes followed by more.
    package mutating func decode(
        _ bytes: Span<UInt8>,
        answering method: HTTPMethod
    ) throws(HTTP1Error) -> (head: ResponseHead, consumed: Int)? {
        guard let length = try lines.scan(bytes) else { return nil }
        let head = bytes.extracting(0..<length)
        let response: ResponseHead
        do throws(HTTP1Error) {
            response = try ResponseHeadDecoder.response(head, lines, answering: method)
        } catch {
            guard error.isMendable else { throw error }
            let mended = try MendedHead(head, lines: lines)
            response = try ResponseHeadDecoder.response(
                mended.bytes.span,
                mended.lines,
                answering: method
            )
        }
        lines.reset()
        return (response, length)
    }

    private static func response(
        _ head: Span<UInt8>,
        _ lines: LineScanner,
        answering method: HTTPMethod
    ) throws(HTTP1Error) -> ResponseHead {
        let (version, status) = try statusLine(head.extracting(lines.start..<lines.lineEnds[0]))
        let fields = try FieldSection(head, lines: lines, from: 1, spare: spare)
        let body = try BodyLength(
            of: status,
            answering: method,
            framedBy: BodyLength.fromFields(fields, version, in: head),
            announcing: fields.contentLength
        )
        return ResponseHead(
            status: status,
            version: version,
            headers: fields.headers,
            framing: body.framing,
            keepAlive: body.isCertain && fields.connection.persists(version),
            announcedLength: body.announced
        )
    }

    private static func statusLine(
        _ line: Span<UInt8>
    ) throws(HTTP1Error) -> (HTTP1Version, HTTPStatus) {
        guard line.count >= 8 else { throw .malformedStatusLine }
        let version = try HTTP1Version(line.extracting(0..<8), else: .malformedStatusLine)
        guard line.count >= 12, line[8] == 0x20, line.count == 12 || line[12] == 0x20 else {
            throw .malformedStatusLine
        }
        var code = 0
        for index in 9..<12 {
            guard Grammar.isDigit(line[index]) else { throw .malformedStatusLine }
            code = code * 10 + Int(line[index] & 15)
        }
        guard let status = HTTPStatus(rawValue: code) else { throw .malformedStatusLine }
        return (version, status)
    }
}

/// Extracts response heads from the bytes read from a connection.
package struct ResponseReader: Sendable {
    private var decoder: ResponseHeadDecoder

    /// Creates a reader at the start of a response.
    package init(limits: HTTP1Limits = HTTP1Limits()) {
        decoder = ResponseHeadDecoder(limits: limits)
    }

    /// Removes the next head from the buffer; returns `nil` until the head is complete.
    package mutating func next(
        from buffer: ReadBuffer,
        answering method: HTTPMethod
    ) throws(HTTP1Error) -> ResponseHead? {
        guard !buffer.isEmpty else { return nil }
        let decoded = try buffer.withSpan { bytes throws(HTTP1Error) in
            try decoder.decode(bytes, answering: method)
        }
        guard let decoded else { return nil }
        buffer.consume(decoded.consumed)
        return decoded.head
    }
}
