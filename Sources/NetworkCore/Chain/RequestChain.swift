/// The interceptors of a channel in their order, outermost first, with the transport at the end.
///
/// Also the rest of such a chain as an interceptor sees it: a position in the same list, so that
/// calling `next` allocates nothing.
public struct RequestChain: Sendable {
    private final class Links: Sendable {
        let interceptors: [any RequestInterceptor]
        let transport: any HTTPTransport

        init(_ interceptors: [any RequestInterceptor], _ transport: any HTTPTransport) {
            self.interceptors = interceptors
            self.transport = transport
        }
    }

    private let links: Links
    private let position: Int

    /// Makes a chain.
    public init(_ interceptors: [any RequestInterceptor], transport: any HTTPTransport) {
        links = Links(interceptors, transport)
        position = 0
    }

    private init(links: Links, position: Int) {
        self.links = links
        self.position = position
    }

    /// Sends the request through what remains of the chain.
    ///
    /// - Throws: `NetworkError`, or what an interceptor throws.
    public func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        guard position < links.interceptors.count else {
            return try await links.transport.send(request, context: &context)
        }
        let rest = RequestChain(links: links, position: position + 1)
        return try await links.interceptors[position]
            .intercept(request, context: &context, next: rest)
    }
}
