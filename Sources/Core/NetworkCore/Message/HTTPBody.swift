import NetproxyBytes

/// The content of a message (RFC 9110 §6.4).
public enum HTTPBody: Sendable {
    /// No content.
    case empty
    /// Content in memory; it can be sent any number of times.
    case bytes(ByteSlice)
    /// Content that comes piece by piece; `length` where it was announced.
    ///
    /// Most sources are read once: `Request.again()` tells whether another attempt can have it.
    case stream(any BodySource, length: Int?)
    /// No content: a 101 has made the connection into something else (RFC 9110 §7.8).
    ///
    /// Responses only, and only to requests with an `Upgrade` field.
    case tunnel(any DuplexStream)

    /// The number of bytes, where it is known.
    public var length: Int? {
        switch self {
        case .empty, .tunnel: 0
        case .bytes(let bytes): bytes.count
        case .stream(_, let length): length
        }
    }

    /// Whether it comes piece by piece.
    @inlinable package var isStream: Bool {
        if case .stream = self { true } else { false }
    }

    /// Whether all of it is in memory.
    public var isInMemory: Bool {
        switch self {
        case .empty, .bytes: true
        case .stream, .tunnel: false
        }
    }

    /// Reads all of it.
    ///
    /// - Throws: `NetworkError` of kind `.httpResponseBodySize` above `limit` bytes, `.cancelled`,
    ///   or the error of the source.
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
