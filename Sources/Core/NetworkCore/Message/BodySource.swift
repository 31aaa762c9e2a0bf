/// Content that arrives in pieces, pulled by its reader; a reader that does not pull applies backpressure.
///
/// A class or an actor, because content is read once and all holders must share its position. This also keeps
/// messages small and cheap to copy.
public protocol BodySource: AnyObject, Sendable {
    /// Returns the next piece, never empty; `nil` at the end.
    ///
    /// A source may return `nil` because its task was canceled; readers check for that.
    ///
    /// - Throws: `NetworkError` if the message was cut short; no piece follows.
    func next() async throws -> ByteSlice?

    /// Returns the next piece if it is available without waiting; `nil` if `next()` must be called.
    func buffered() -> ByteSlice?

    /// Returns the trailer fields, which are known after `next()` has returned `nil`.
    func trailers() -> HTTPHeaders?

    /// Ends the content early and discards the unread part; does nothing after the end.
    func cancel()
}

extension BodySource {
    /// Returns the next piece, or `nil` at the end; throws if the source ended because of cancellation.
    ///
    /// - Throws: the errors of `next()`, and `NetworkError` of kind `.cancelled`.
    package func nextUnlessCancelled() async throws -> ByteSlice? {
        let piece = try await next()
        guard piece != nil || !Task.isCancelled else { throw NetworkError.cancelled }
        return piece
    }

    /// Always `nil`: readers call `next()`.
    public func buffered() -> ByteSlice? { nil }
    /// Always `nil`: there are no trailer fields.
    public func trailers() -> HTTPHeaders? { nil }
    /// Does nothing.
    public func cancel() {}
}

/// Content that can be read again for each attempt without a copy, such as that of a file.
///
/// Code that sends a request again reads it from the start: retries, the replay after a 401,
/// `RetryingInterceptor`, and `Request.again()` for a program's interceptors.
public protocol RepeatableBodySource: BodySource {
    /// Returns the content from its start, independent of the readers of this source.
    ///
    /// It returns the same bytes as this source or throws, because changed content must not be sent with the
    /// request.
    func fromStart() -> any RepeatableBodySource
}
