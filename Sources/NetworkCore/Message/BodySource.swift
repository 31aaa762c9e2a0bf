/// Content that arrives piece by piece, pulled by whoever sends or reads it: not pulling is the
/// backpressure.
public protocol BodySource: Sendable {
    /// The next piece, never empty, or nothing at the end.
    ///
    /// A source that ends because its task is cancelled has not come to its end: what sends or reads it
    /// looks for that itself.
    ///
    /// - Throws: `NetworkError` when the message was cut short; there is no piece after that.
    func next() async throws -> ByteSlice?

    /// What can be had without waiting; nothing if `next()` must be asked, which may be at the end.
    func buffered() -> ByteSlice?

    /// The trailer fields, known once `next()` has returned nothing.
    func trailers() -> HTTPHeaders?

    /// Ends the content early: what was not read is not wanted. Harmless after the end.
    func cancel()
}

extension BodySource {
    /// The next piece, or nothing at the end: what ends because the task is cancelled has not come to
    /// its end.
    ///
    /// - Throws: what `next()` throws, and `NetworkError` of kind `.cancelled`.
    package func nextUnlessCancelled() async throws -> ByteSlice? {
        let piece = try await next()
        guard piece != nil || !Task.isCancelled else { throw NetworkError.cancelled }
        return piece
    }

    /// `next()` has it.
    public func buffered() -> ByteSlice? { nil }
    /// No trailer fields.
    public func trailers() -> HTTPHeaders? { nil }
    /// Nothing to give back.
    public func cancel() {}
}

/// Content that is read anew for each attempt and need not be kept, such as that of a file.
///
/// Whatever sends a request again takes it from its start: retries, the replay after a 401,
/// `RetryingInterceptor`, and `Request.again()` for interceptors of a program's own.
public protocol RepeatableBodySource: BodySource {
    /// The content from its start; whoever still reads this source does not disturb it.
    ///
    /// It gives the bytes that this one gives, or throws: content that has changed in between belongs
    /// to no request.
    func fromStart() -> any RepeatableBodySource
}
