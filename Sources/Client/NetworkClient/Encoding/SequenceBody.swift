/// Content that an asynchronous sequence brings piece by piece, such as one of the program's own.
///
/// Read once: a request with it is sent again where what was read is kept, as of any stream. A sequence
/// that ends because its reader was cancelled has not come to its end, and makes no shorter message.
public actor SequenceBody<Pieces: AsyncSequence & Sendable>: BodySource
where Pieces.Element: Sequence<UInt8> {
    /// `nil` during a read.
    private var iterator: Pieces.AsyncIterator?
    /// The reason why no piece can follow: a sequence that has failed or was cancelled only reports its end.
    private var failure: (any Error)?

    /// Sends the bytes of each element as they come; empty elements are passed over.
    public init(_ pieces: Pieces) {
        iterator = pieces.makeAsyncIterator()
    }

    /// The next piece, or `nil` at the end.
    ///
    /// - Throws: the errors of the sequence, and `http_request_error` if two tasks read at once.
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
