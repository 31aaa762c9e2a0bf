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
        var passage = Passage(position)
        let response: Response
        do {
            try pass(&request, &passage, &context)
            if passage.position == links.steps.count {
                let earlier = context.attempts
                // Not every transport counts.
                defer { if context.attempts == earlier { context.attempts += 1 } }
                response = try await links.transport.send(consume request, context: &context)
            } else {
                response = try await intercept(request, at: passage.position, &context)
            }
        } catch {
            return try await settle(error, &passage, &context)
        }
        guard let objector = objector(to: response, in: passage, &context) else { return response }
        return try await settle(response, objector, &passage, &context)
    }

    /// How far a request came without a wait.
    private struct Passage {
        /// Whose turn it is; behind the last interceptor comes the transport.
        var position: Int
        /// Those that will look at the answer, one behind the other.
        var reviewers: Range<Int>
        /// The request for them.
        var kept: Request?
        /// How far it had come when it was kept, if it is: reversible interceptors in front have had
        /// their say.
        var keptPosition: Int?
        /// Which interceptors edited it, a bit for each position below 64.
        var edited: UInt64 = 0

        init(_ position: Int) {
            self.position = position
            reviewers = position..<position
        }

        /// Whether somebody will look at the answer, and has no request yet.
        var wantsRequest: Bool { !reviewers.isEmpty && keptPosition == nil }

        /// Keeps the request as it is, if somebody wants it.
        mutating func keep(_ request: borrowing Request) {
            guard wantsRequest else { return }
            kept = copy request
            keptPosition = position
        }
    }

    /// Takes the request past the interceptors that need not wait.
    @inline(never)
    private func pass(
        _ request: inout Request,
        _ passage: inout Passage,
        _ context: inout RequestContext
    ) throws {
        // Here, where nothing edits it any more.
        defer { passage.keep(request) }
        while passage.position < links.steps.count {
            switch links.steps[passage.position] {
            case .passing(let place):
                if passage.wantsRequest,
                    passage.position >= 64 || !place.interceptor.isReversible(for: request)
                {
                    passage.keep(request)
                }
                switch try place.interceptor.pass(&request, context: &context) {
                case .declined: return
                case .unchanged: break
                case .edited: passage.edited |= 1 << UInt64(passage.position)
                }
            case .reviewing(let place):
                let reviewers = passage.reviewers
                guard reviewers.isEmpty || reviewers.upperBound == passage.position,
                    place.interceptor.begin(request, context: &context)
                else { return }
                let first = reviewers.isEmpty ? passage.position : reviewers.lowerBound
                passage.reviewers = first..<(passage.position + 1)
            case .other: return
            }
            passage.position += 1
        }
    }

    /// The innermost reviewer that does not let a response stand.
    @inline(never)
    private func objector(
        to response: borrowing Response,
        in passage: borrowing Passage,
        _ context: inout RequestContext
    ) -> Int? {
        var position = passage.reviewers.upperBound
        while position > passage.reviewers.lowerBound {
            position -= 1
            guard case .reviewing(let place) = links.steps[position] else { continue }
            if !place.interceptor.accepts(response, context: &context) { return position }
        }
        return nil
    }

    // Never inlined, like the next two: what they hold while they wait takes no room where nothing
    // has to wait.
    @inline(never)
    private func intercept(
        _ request: Request,
        at position: Int,
        _ context: inout RequestContext
    ) async throws -> Response {
        try await links.steps[position].interceptor.intercept(
            request,
            context: &context,
            next: RequestChain(links: links, position: position + 1)
        )
    }

    @inline(never)
    private func settle(
        _ error: any Error,
        _ passage: inout Passage,
        _ context: inout RequestContext
    ) async throws -> Response {
        let failure = attributed(error, toStep: passage.position)
        guard let reviewed = original(&passage) else { throw failure }
        return try await review(.failure(failure), of: reviewed, by: passage.reviewers, &context)
    }

    @inline(never)
    private func settle(
        _ response: Response,
        _ objector: Int,
        _ passage: inout Passage,
        _ context: inout RequestContext
    ) async throws -> Response {
        guard let reviewed = original(&passage) else { return response }
        let left = passage.reviewers.lowerBound..<(objector + 1)
        return try await review(.success(response), of: reviewed, by: left, &context)
    }

    /// The request as the reviewers were given it.
    private func original(_ passage: inout Passage) -> Request? {
        guard let end = passage.keptPosition, var request = passage.kept.take() else { return nil }
        for position in (passage.reviewers.upperBound..<end).reversed() {
            guard case .passing(let place) = links.steps[position],
                passage.edited & (1 << UInt64(position)) != 0
            else { continue }
            place.interceptor.withdraw(from: &request)
        }
        return request
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
