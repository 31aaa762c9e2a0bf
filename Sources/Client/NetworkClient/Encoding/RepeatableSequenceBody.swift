/// Content from an asynchronous sequence that every attempt can read from its start.
public final class RepeatableSequenceBody<Pieces: AsyncSequence & Sendable>: RepeatableBodySource
where Pieces.Element: Sequence<UInt8> {
    private let pieces: Pieces
    private let reader: SequenceBody<Pieces>

    /// Creates content from the bytes of each element; each iterator of the sequence has the same elements.
    public init(_ pieces: Pieces) {
        self.pieces = pieces
        reader = SequenceBody(pieces)
    }

    /// Returns the next piece, or `nil` at the end.
    ///
    /// - Throws: the errors of the sequence.
    public func next() async throws -> ByteSlice? { try await reader.next() }

    /// Returns the content from its start.
    public func fromStart() -> any RepeatableBodySource { RepeatableSequenceBody(pieces) }
}

extension HTTPBody {
    /// The number of times that a sequence can be read.
    public enum SequenceUse: Sendable, Hashable {
        /// Once: another attempt needs a copy of the read bytes, see `NetworkChannel.replayLimit`.
        case once
        /// Any number of times, with the same elements.
        case repeatable
    }

    /// Returns content from an asynchronous sequence.
    ///
    /// Content of up to 64 KiB with a known length is read into memory, so that a request with it is sent and
    /// repeated like one with the same bytes.
    ///
    /// - Parameters:
    ///   - pieces: the bytes of the content.
    ///   - length: the number of bytes; `nil` if it is not known.
    ///   - use: the number of times that the sequence can be read.
    /// - Returns: the content.
    /// - Throws: the errors of a sequence that is read; `http_request_error` if it has another length.
    public static func sequence<Pieces: AsyncSequence & Sendable>(
        _ pieces: Pieces,
        length: Int? = nil,
        _ use: SequenceUse = .once
    ) async throws -> HTTPBody where Pieces.Element: Sequence<UInt8> {
        if let length, length <= FileContent.inlineLimit {
            let content = try await HTTPBody.stream(SequenceBody(pieces), length: nil)
                .collect(upTo: FileContent.inlineLimit)
            guard content.count == length else {
                throw NetworkError.unsendable(
                    "the content has \(content.count) bytes instead of \(length)"
                )
            }
            return .bytes(content)
        }
        switch use {
        case .once: return .stream(SequenceBody(pieces), length: length)
        case .repeatable: return .stream(RepeatableSequenceBody(pieces), length: length)
        }
    }

    /// The content in pieces, to be read once.
    public var pieces: ByteStream { ByteStream(self) }
}
