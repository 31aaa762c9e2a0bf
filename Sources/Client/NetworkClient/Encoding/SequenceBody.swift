/// Content from an asynchronous sequence of pieces.
///
/// It can be read only once (see `RepeatableSequenceBody`), so a request with it is sent again only if the read bytes are kept, as for any
/// stream. A sequence that ends because its reader was canceled throws, because the message would be
/// truncated.
public actor SequenceBody<Pieces: AsyncSequence & Sendable>: BodySource
where Pieces.Element: Sequence<UInt8> {
    /// The iterator; `nil` during a read.
    private var iterator: Pieces.AsyncIterator?
    /// The error that ended the content; a failed or canceled sequence reports only its end when it is read
    /// again.
    private var failure: (any Error)?

    /// Creates content from the bytes of each element; empty elements are skipped.
    public init(_ pieces: Pieces) {
        iterator = pieces.makeAsyncIterator()
    }

    /// Returns the next piece, or `nil` at the end.
    ///
    /// - Throws: the errors of the sequence, and `http_request_error` if two tasks read at the same time.
    public func next() async throws -> ByteSlice? {
        if let failure { throw failure }
        guard var pieces = iterator.take() else {
            throw NetworkError.unsendable("two tasks read one content; give it to one of them")
        }
        defer { iterator = pieces }
        do {
            while let piece = try await pieces.next(isolation: self) {
                let bytes = Array(piece)
                if !bytes.isEmpty { return ByteSlice(bytes) }
            }
            guard !Task.isCancelled else { throw NetworkError.cancelled }
            return nil
        } catch {
            failure = error is CancellationError ? NetworkError.cancelled : error
            throw failure ?? error
        }
    }
}
