import NetproxyBytes

/// The content of a message (RFC 9110 §6.4).
public enum HTTPBody: Sendable {
    /// No content.
    case empty
    /// Content in memory, which can be sent any number of times.
    case bytes(ByteSlice)
    /// Content that arrives in pieces; `length` is set if it was announced.
    ///
    /// Most sources can be read only once; `Request.again()` returns `nil` if another attempt cannot send the
    /// body.
    case stream(any BodySource, length: Int?)
    /// A tunnel after a 101 has left HTTP on the connection (RFC 9110 §7.8); no content.
    ///
    /// Only responses have one, and only after requests with an `Upgrade` field.
    case tunnel(any DuplexStream)

    /// The number of bytes, if known.
    public var length: Int? {
        switch self {
        case .empty, .tunnel: 0
        case .bytes(let bytes): bytes.count
        case .stream(_, let length): length
        }
    }

    /// Whether the content arrives in pieces.
    @inlinable package var isStream: Bool {
        if case .stream = self { true } else { false }
    }

    /// Whether the whole content is in memory.
    public var isInMemory: Bool {
        switch self {
        case .empty, .bytes: true
        case .stream, .tunnel: false
        }
    }

    /// Reads the whole content.
    ///
    /// - Throws: `NetworkError` of kind `.httpResponseBodySize` above `limit` bytes, `.cancelled`, or the
    ///   error of the
    ///   source.
    public func collect(upTo limit: Int) async throws -> ByteSlice {
        switch self {
        case .empty, .tunnel: return ByteSlice([])
        case .bytes(let bytes):
            guard bytes.count <= limit else { throw NetworkError.tooLarge(limit: limit) }
            return bytes
        case .stream(let source, let length):
            guard length ?? 0 <= limit else {
                source.cancel()
                throw NetworkError.tooLarge(limit: limit)
            }
            guard let first = try await source.nextUnlessCancelled() else { return ByteSlice([]) }
            guard first.count <= limit else {
                source.cancel()
                throw NetworkError.tooLarge(limit: limit)
            }
            guard let second = try await source.nextUnlessCancelled() else { return first }
            var collected = SlabWriter(expecting: length ?? 4 * (first.count + second.count))
            collected.append(first.span)
            collected.append(second.span)
            while collected.count <= limit, let piece = try await source.nextUnlessCancelled() {
                collected.append(piece.span)
            }
            guard collected.count <= limit else {
                source.cancel()
                throw NetworkError.tooLarge(limit: limit)
            }
            return collected.finish()
        }
    }

    /// Discards the unread part.
    public func cancel() {
        switch self {
        case .empty, .bytes: break
        case .stream(let source, _): source.cancel()
        case .tunnel(let stream): stream.close()
        }
    }
}
