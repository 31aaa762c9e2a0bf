/// The interceptors of a channel in their order, outermost first, with the transport at the end.
///
/// Also the rest of such a chain as an interceptor sees it: a position in the same list, so that
/// calling `next` allocates nothing.
public struct RequestChain: Sendable {
    /// An interceptor in its place, as what it is for the chain.
    private enum Step {
        case passing(Place<any PassingInterceptor>)
        case reviewing(Place<any ReviewingInterceptor>)
        case other(Place<any RequestInterceptor>)

        init(_ interceptor: any RequestInterceptor) {
            if let passing = interceptor as? any PassingInterceptor {
                self = .passing(Place(passing))
            } else if let reviewing = interceptor as? any ReviewingInterceptor {
                self = .reviewing(Place(reviewing))
            } else {
                self = .other(Place(interceptor))
            }
        }

        var interceptor: any RequestInterceptor {
            switch self {
            case .passing(let place): place.interceptor
            case .reviewing(let place): place.interceptor
            case .other(let place): place.interceptor
            }
        }
    }

    /// Shared, so that visiting an interceptor does not copy it.
    private final class Place<Interceptor: Sendable>: Sendable {
        let interceptor: Interceptor

        init(_ interceptor: Interceptor) {
            self.interceptor = interceptor
        }
    }

    private final class Links: Sendable {
        let steps: [Step]
        let transport: any HTTPTransport

        init(_ interceptors: [any RequestInterceptor], _ transport: any HTTPTransport) {
            steps = interceptors.map(Step.init)
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
        let steps = links.steps
        var request = request
        var position = position
        // Those that look at the answer, one behind the other, and what they were given.
        var reviewers = position..<position
        var reviewed: Request?
        while position < steps.count {
            switch steps[position] {
            case .passing(let place):
                do {
                    guard try place.interceptor.pass(&request, context: &context) else { break }
                } catch {
                    let failure = attributed(error, toStep: position)
                    guard let reviewed else { throw failure }
                    return try await review(
                        .failure(failure),
                        of: reviewed,
                        by: reviewers,
                        &context
                    )
                }
                position += 1
                continue
            case .reviewing(let place):
                guard reviewers.isEmpty || reviewers.upperBound == position,
                    place.interceptor.begin(request, context: &context)
                else { break }
                if reviewers.isEmpty {
                    reviewed = request
                    reviewers = position..<position
                }
                position += 1
                reviewers = reviewers.lowerBound..<position
                continue
            case .other: break
            }
            break
        }
        let response: Response
        do {
            if position == steps.count {
                response = try await links.transport.send(request, context: &context)
            } else {
                let rest = RequestChain(links: links, position: position + 1)
                response = try await steps[position].interceptor.intercept(
                    request,
                    context: &context,
                    next: rest
                )
            }
        } catch {
            let failure = attributed(error, toStep: position)
            guard let reviewed else { throw failure }
            return try await review(.failure(failure), of: reviewed, by: reviewers, &context)
        }
        for position in reviewers.reversed() {
            guard case .reviewing(let place) = steps[position],
                !place.interceptor.accepts(response, context: &context), let reviewed
            else { continue }
            let left = reviewers.lowerBound..<(position + 1)
            return try await review(.success(response), of: reviewed, by: left, &context)
        }
        return response
    }

    /// Lets interceptors settle the outcome, the innermost first.
    private func review(
        _ outcome: Result<Response, any Error>,
        of request: Request,
        by reviewers: Range<Int>,
        _ context: inout RequestContext
    ) async throws -> Response {
        var outcome = outcome
        for position in reviewers.reversed() {
            guard case .reviewing(let place) = links.steps[position] else { continue }
            if case .success(let response) = outcome,
                place.interceptor.accepts(response, context: &context)
            {
                continue
            }
            let rest = RequestChain(links: links, position: position + 1)
            do {
                outcome = .success(
                    try await place.interceptor.review(
                        outcome,
                        of: request,
                        context: &context,
                        next: rest
                    )
                )
            } catch {
                outcome = .failure(attributed(error, toStep: position))
            }
        }
        return try outcome.get()
    }

    /// An error with the name of the interceptor that threw it, or of the transport behind them all.
    private func attributed(_ error: any Error, toStep position: Int) -> any Error {
        guard position < links.steps.count else {
            return RequestChain.attributed(error, to: .transport)
        }
        let interceptor = links.steps[position].interceptor
        return RequestChain.attributed(error, to: .interceptor("\(type(of: interceptor))"))
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
