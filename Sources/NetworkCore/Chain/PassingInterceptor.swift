/// An interceptor that mostly has its say before the send, at once, and does not look at the answer.
///
/// The chain lets it edit the request in place and goes on with the next one: nothing is suspended,
/// and no frame waits for the response.
package protocol PassingInterceptor: RequestInterceptor {
    /// Does the interceptor's part, if that takes neither waiting nor the answer.
    ///
    /// - Throws: what `intercept` would throw.
    func pass(_ request: inout Request, context: inout RequestContext) throws -> Passing

    /// Whether `withdraw` will undo what `pass` is about to do: then the chain keeps the request as it
    /// is sent, and no copy of it from before.
    func isReversible(for request: borrowing Request) -> Bool

    /// Takes out of a request what `pass` put in.
    func withdraw(from request: inout Request)
}

/// What an interceptor has done with a request without a wait.
package enum Passing: Sendable {
    /// Nothing: `intercept` must be called.
    case declined
    /// All there was to do, which changed nothing.
    case unchanged
    /// All there was to do.
    case edited
}

extension PassingInterceptor {
    /// What was changed stays.
    package func isReversible(for request: borrowing Request) -> Bool { false }

    /// Does nothing.
    package func withdraw(from request: inout Request) {}
}
