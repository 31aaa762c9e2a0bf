/// An interceptor that mostly has its say before the send, at once, and does not look at the answer.
///
/// The chain lets it edit the request in place and goes on with the next one: nothing is suspended,
/// and no frame waits for the response.
package protocol PassingInterceptor: RequestInterceptor {
    /// Does the interceptor's part, if that takes neither waiting nor the answer.
    ///
    /// - Returns: whether that was all; otherwise nothing was changed, and `intercept` is called.
    /// - Throws: what `intercept` would throw.
    func pass(_ request: inout Request, context: inout RequestContext) throws -> Bool

    /// Whether `withdraw` undoes what `pass` did: then the chain keeps the request as it was sent, and
    /// no copy of it from before.
    var isReversible: Bool { get }

    /// Takes out of a request what `pass` put in.
    ///
    /// - Parameters:
    ///   - request: as `pass` left it.
    ///   - context: as `pass` left it, but for what came behind.
    func withdraw(from request: inout Request, context: borrowing RequestContext)
}

extension PassingInterceptor {
    /// What was changed stays.
    package var isReversible: Bool { false }

    /// Does nothing.
    package func withdraw(from request: inout Request, context: borrowing RequestContext) {}
}
