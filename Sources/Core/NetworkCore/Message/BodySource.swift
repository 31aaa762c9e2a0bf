/// Content that arrives piece by piece, pulled by its reader: not pulling is the backpressure.
///
/// A class or an actor, since content is read once: whoever holds it holds the same. It also keeps
/// messages small, and copies of them cheap.
public protocol BodySource: AnyObject, Sendable {
    /// The next piece, never empty; `nil` at the end.
    ///
    /// A source may return `nil` because its task is cancelled: readers check for that.
    ///
    /// - Throws: `NetworkError` when the message was cut short; there is no piece after that.
    func next() async throws -> ByteSlice?

    /// The next piece if it is here without waiting; `nil` if `next()` must be called.
    func buffered() -> ByteSlice?

    /// The trailer fields, known once `next()` has returned `nil`.
    func trailers() -> HTTPHeaders?

    /// Ends the content early and discards the unread part. Does nothing after the end.
    func cancel()
}

extension BodySource {
    /// The next piece, or `nil` at the end; throws where the source ended by cancellation.
    ///
    /// - Throws: the errors of `next()`, and `NetworkError` of kind `.cancelled`.
    package func nextUnlessCancelled() async throws -> ByteSlice? {
        let piece = try await next()
        guard piece != nil || !Task.isCancelled else { throw NetworkError.cancelled }
        return piece
    }

    /// `next()` has it.
    public func buffered() -> ByteSlice? { nil }
    /// No trailer fields.
    public func trailers() -> HTTPHeaders? { nil }
    /// Does nothing.
    public func cancel() {}
}

/// Content that can be read again for each attempt and need not be kept, such as that of a file.
///
/// Whatever sends a request again takes it from its start: retries, the replay after a 401,
/// `RetryingInterceptor`, and `Request.again()` for a program's interceptors.
public protocol RepeatableBodySource: BodySource {
    /// The content from its start, independent of readers of this source.
    ///
    /// It gives the bytes that this one gives, or throws: content that has changed in between belongs
    /// to no request.
    func fromStart() -> any RepeatableBodySource
}
