/// A response whose content is read as it arrives, once: as bytes, lines, values or server-sent events.
///
/// A reader that does not read applies backpressure. A stream that is dropped before its end closes its
/// connection.
public struct ResponseStream: Sendable {
    /// The status.
    public let status: HTTPStatus
    /// The field section.
    public let headers: HTTPHeaders
    /// The content, to be read once.
    public let body: HTTPBody
    /// The facts of the exchange.
    public let context: RequestContext
    let decoder: any ContentDecoding

    init(
        _ response: Response,
        _ context: RequestContext,
        decoder: any ContentDecoding
    ) {
        status = response.status
        headers = response.headers
        self.context = context
        self.decoder = decoder
        body = response.body
    }

    /// The content in pieces, as they arrive.
    public var bytes: ByteStream { ByteStream(body) }

    /// The lines of the content, without the line ends LF, CR LF or CR.
    public var lines: LineStream { LineStream(body, limit: LineSplitter.defaultLimit) }

    /// The events of `text/event-stream` (WHATWG HTML §9.2).
    public var events: EventStream { EventStream(body, decoder) }

    /// Ends the stream and discards the unread content.
    public func cancel() { body.cancel() }
}

extension ResponseStream: AsyncSequence {
    /// Returns an iterator over the pieces, like that of `bytes`.
    public func makeAsyncIterator() -> ByteStream.Iterator { bytes.makeAsyncIterator() }
}

/// Content in pieces, as they arrive.
public struct ByteStream: AsyncSequence, Sendable {
    /// Reads the content.
    public struct Iterator: AsyncIteratorProtocol {
        private var pending: HTTPBody

        init(_ body: HTTPBody) {
            pending = body
        }

        /// Returns the next piece, never empty; `nil` at the end.
        ///
        /// - Throws: `NetworkError` if the content was cut short or the task was canceled.
        public mutating func next() async throws(NetworkError) -> ByteSlice? {
            try await next(isolation: #isolation)
        }

        /// Returns the next piece, for `for try await`.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(NetworkError) -> ByteSlice? {
            switch pending {
            case .empty, .tunnel: return nil
            case .bytes(let bytes):
                pending = .empty
                return bytes.isEmpty ? nil : bytes
            case .stream(let source, _):
                guard !Task.isCancelled else { throw NetworkError.cancelled }
                do { return try await source.nextUnlessCancelled() } catch {
                    throw NetworkError.of(error)
                }
            }
        }
    }

    private let body: HTTPBody

    init(_ body: HTTPBody) {
        self.body = body
    }

    /// Returns an iterator over the content.
    public func makeAsyncIterator() -> Iterator { Iterator(body) }
}

/// The lines of a body.
public struct LineStream: AsyncSequence, Sendable {
    /// Reads the lines.
    public struct Iterator: AsyncIteratorProtocol {
        /// The treatment of a last line without a line end.
        enum OpenLine {
            case kept, dropped
        }

        private var bytes: ByteStream.Iterator
        private var splitter: LineSplitter
        private let openLine: OpenLine
        private var lines: ArraySlice<String> = []
        private var isOver = false

        init(_ body: HTTPBody, limit: Int, openLine: OpenLine = .kept) {
            bytes = ByteStream.Iterator(body)
            splitter = LineSplitter(limit: limit)
            self.openLine = openLine
        }

        /// Returns the next line, without its end; invalid UTF-8 is replaced.
        ///
        /// - Throws: `NetworkError` if the content was cut short or a line is longer than 1 MiB.
        public mutating func next() async throws(NetworkError) -> String? {
            try await next(isolation: #isolation)
        }

        /// Returns the next line, for `for try await`.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(NetworkError) -> String? {
            while lines.isEmpty, !isOver {
                if let piece = try await bytes.next(isolation: actor) {
                    lines = try splitter.push(piece.span)[...]
                } else {
                    isOver = true
                    if openLine == .kept, let last = splitter.end() { lines = [last] }
                }
            }
            return lines.popFirst()
        }
    }

    private let body: HTTPBody
    private let limit: Int

    init(_ body: HTTPBody, limit: Int) {
        self.body = body
        self.limit = limit
    }

    /// Returns an iterator over the lines.
    public func makeAsyncIterator() -> Iterator { Iterator(body, limit: limit) }
}

/// Splits bytes into lines at LF, CR LF or CR, regardless of the borders of the pieces.
struct LineSplitter {
    /// The longest line, in bytes: 1 MiB.
    static let defaultLimit = 1024 * 1024
    private let limit: Int
    private var open: [UInt8] = []
    private var isAfterCR = false

    init(limit: Int = LineSplitter.defaultLimit) {
        self.limit = limit
    }

    /// Returns the lines that these bytes complete.
    mutating func push(_ bytes: Span<UInt8>) throws(NetworkError) -> [String] {
        var lines: [String] = []
        for index in bytes.indices {
            let byte = bytes[index]
            let wasAfterCR = isAfterCR
            isAfterCR = byte == 0x0D
            if byte == 0x0A, wasAfterCR { continue }
            if byte == 0x0A || byte == 0x0D {
                lines.append(String(decoding: open, as: UTF8.self))
                open.removeAll(keepingCapacity: true)
                continue
            }
            open.append(byte)
            guard open.count <= limit else { throw NetworkError.tooLarge(limit: limit) }
        }
        return lines
    }

    /// Returns the last line, if the content does not end with a line end.
    mutating func end() -> String? {
        guard !open.isEmpty else { return nil }
        defer { open = [] }
        return String(decoding: open, as: UTF8.self)
    }
}
