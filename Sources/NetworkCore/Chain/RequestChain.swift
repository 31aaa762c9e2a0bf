/// The interceptors of a channel in their order, outermost first, with the transport at the end.
///
/// Also the rest of such a chain as an interceptor sees it: a position in the same list, so that
/// calling `next` allocates nothing.
public struct RequestChain: Sendable {
    private final class Links: Sendable {
        let interceptors: [any RequestInterceptor]
        /// The same, where they may step out of the way.
        let passing: [(any PassingInterceptor)?]
        let transport: any HTTPTransport

        init(_ interceptors: [any RequestInterceptor], _ transport: any HTTPTransport) {
            self.interceptors = interceptors
            passing = interceptors.map { $0 as? any PassingInterceptor }
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
    public func send(
        _ request: consuming Request,
        context: inout RequestContext
    ) async throws -> Response {
        var request = request
        var position = position
        do {
            while position < links.passing.count, let step = links.passing[position],
                try step.pass(&request, context: &context)
            { position += 1 }
        } catch {
            let interceptor = links.interceptors[position]
            throw RequestChain.attributed(error, to: .interceptor("\(type(of: interceptor))"))
        }
        guard position < links.interceptors.count else {
            do {
                return try await links.transport.send(request, context: &context)
            } catch {
                throw RequestChain.attributed(error, to: .transport)
            }
        }
        let rest = RequestChain(links: links, position: position + 1)
        let interceptor = links.interceptors[position]
        do {
            return try await interceptor.intercept(request, context: &context, next: rest)
        } catch {
            throw RequestChain.attributed(error, to: .interceptor("\(type(of: interceptor))"))
        }
    }

    /// An error with the name of who threw it first; what further links rethrow keeps its name.
    private static func attributed(
        _ error: any Error,
        to source: @autoclosure () -> NetworkError.Source
    ) -> any Error {
        guard var error = error as? NetworkError else {
            if error is CancellationError { return error }
            let source = source()
            var failure = NetworkError(
                .proxyInternalError,
                side: .proxy,
                detail: "\(source.name) failed with \(type(of: error))"
            )
            failure.source = source
            failure.underlying = error
            return failure
        }
        if error.source == .unknown { error.source = source() }
        return error
    }
}
