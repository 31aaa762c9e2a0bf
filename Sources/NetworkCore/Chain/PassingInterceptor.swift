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
}
