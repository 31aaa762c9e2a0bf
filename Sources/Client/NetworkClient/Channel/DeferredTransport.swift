/// A transport whose creation may fail; then each of its requests throws the error.
///
/// For initializers of other libraries, which do not throw.
package struct DeferredTransport: HTTPTransport {
    private let transport: Result<any HTTPTransport, any Error>

    /// Creates the transport.
    package init(_ create: () throws -> any HTTPTransport) {
        transport = Result { try create() }
    }

    /// Sends the request once.
    ///
    /// - Throws: the error of the creation or of the attempt.
    package func send(
        _ request: Request,
        context: inout RequestContext
    ) async throws -> Response {
        try await transport.get().send(request, context: &context)
    }
}
