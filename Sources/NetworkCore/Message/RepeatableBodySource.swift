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
