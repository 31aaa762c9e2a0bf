import Synchronization

/// The interceptors of a channel in their order, outermost first, with the transport at the end.
///
/// The `next` of an interceptor is also a chain: a position in the same list, so that a call of `next`
/// allocates
/// nothing.
///
/// On the successful path, the built-in steps of an `InterceptorStack` need no call that waits for the
/// response:
/// they edit the request in place and inspect the response when it arrives. Any other interceptor, and each
/// one in
/// a list made by hand, is a call around the rest of the chain. Such a call costs about 2,000 instructions;
/// it
/// does not slow the others.
public struct RequestChain: Sendable {
    private let links: Links
    private let position: Int
    /// The outcome that the first `send` returns if the chain has already made that attempt.
    private let firstOutcome: FirstOutcome?

    /// Creates a chain.
    public init(_ interceptors: [any RequestInterceptor], transport: any HTTPTransport) {
        self.init(interceptors.map { .other(Boxed($0)) }, transport: transport)
    }

    init(_ steps: [Link], transport: any HTTPTransport) {
        self.init(Links(steps, transport), position: 0)
    }

    private init(_ links: Links, position: Int, first outcome: FirstOutcome? = nil) {
        self.links = links
        self.position = position
        firstOutcome = outcome
    }

    /// Whether the first attempt has already been made when an interceptor is called.
    var hasFirstOutcome: Bool { firstOutcome != nil }

    /// Sends the request through the rest of the chain.
    ///
    /// - Throws: `NetworkError`, or the error of an interceptor.
    public func send(
        _ request: consuming Request,
        context: inout RequestContext
    ) async throws -> Response {
        if let outcome = firstOutcome?.take() { return try outcome.get() }
        var advance = Advance(position)
        let response: Response
        do {
            try self.advance(&request, &advance, &context)
            if advance.position == links.steps.count {
                let earlier = context.attempts
                // Some transports do not count their attempts.
                defer { if context.attempts == earlier { context.attempts += 1 } }
                response = try await links.transport.send(consume request, context: &context)
            } else {
                response = try await intercept(request, at: advance.position, &context)
            }
        } catch {
            return try await handle(error, &advance, &context)
        }
        guard let end = objection(to: response, advance.reviewers, context) else { return response }
        return try await handle(response, upTo: end, &advance, &context)
    }

    /// The progress of a request through the steps that need no waiting call.
    private struct Advance {
        /// The index of the next step; the transport follows the last one.
        var position: Int
        /// The steps that will review the response, one after another.
        var reviewers: Range<Int>
        /// The request as the reviewers see it.
        var request: Request?
        /// The index of the step that authorized the request.
        var signer: Int?

        init(_ position: Int) {
            self.position = position
            reviewers = position..<position
        }

        /// Makes the current step a reviewer.
        mutating func addReviewer() {
            let first = reviewers.isEmpty ? position : reviewers.lowerBound
            reviewers = first..<(position + 1)
        }
    }

    /// Moves the request past the steps that need no call around the rest of the chain.
    @inline(never)
    private func advance(
        _ request: inout Request,
        _ advance: inout Advance,
        _ context: inout RequestContext
    ) throws {
        // From here on, no step edits the request.
        defer { if !advance.reviewers.isEmpty { advance.request = copy request } }
        while advance.position < links.steps.count {
            switch links.steps[advance.position] {
            case .headers(let place):
                // A reviewer must see the request as it was at its own step, so no later step may edit the
                // request in place.
                guard advance.reviewers.isEmpty else { return }
                place.interceptor.edit(&request.headers)
            case .coding(let place):
                guard advance.reviewers.isEmpty else { return }
                place.interceptor.begin(&request.headers)
                advance.addReviewer()
            case .redirect:
                advance.addReviewer()
            case .retry(let place):
                guard place.interceptor.begin(request) else { return }
                advance.addReviewer()
            case .reauthorization(let place):
                guard place.interceptor.begin(request) else { return }
                advance.addReviewer()
            case .length(let place):
                guard place.interceptor.isIdle(for: request) else { return }
            case .originGuard(let place):
                try place.interceptor.check(request)
            case .authorization(let place):
                guard advance.signer == nil, place.interceptor.sign(&request, &context)
                else { return }
                advance.signer = advance.position
            case .other: return
            }
            advance.position += 1
        }
    }

    /// Returns the end of the range of reviewers to run; `nil` if none of them objects to the response.
    ///
    /// The innermost objecting reviewer is the last one in the range.
    @inline(never)
    private func objection(
        to response: borrowing Response,
        _ reviewers: Range<Int>,
        _ context: borrowing RequestContext
    ) -> Int? {
        var end = reviewers.upperBound
        while end > reviewers.lowerBound {
            if !links.steps[end - 1].accepts(response, context) { return end }
            end -= 1
        }
        return nil
    }

    // Never inlined, like the next two functions, so that their variables take no space in the frame of
    // `send`.
    @inline(never)
    private func intercept(
        _ request: Request,
        at position: Int,
        first outcome: FirstOutcome? = nil,
        _ context: inout RequestContext
    ) async throws -> Response {
        try await links.steps[position].interceptor.intercept(
            request,
            context: &context,
            next: RequestChain(links, position: position + 1, first: outcome)
        )
    }

    @inline(never)
    private func handle(
        _ error: any Error,
        _ advance: inout Advance,
        _ context: inout RequestContext
    ) async throws -> Response {
        let failure = attributed(error, toStep: advance.position)
        return try await review(.failure(failure), advance.reviewers, &advance, &context)
    }

    @inline(never)
    private func handle(
        _ response: Response,
        upTo end: Int,
        _ advance: inout Advance,
        _ context: inout RequestContext
    ) async throws -> Response {
        let reviewers = advance.reviewers.lowerBound..<end
        return try await review(.success(response), reviewers, &advance, &context)
    }

    /// Runs the reviewers on the outcome of the first attempt, innermost first.
    private func review(
        _ outcome: Result<Response, any Error>,
        _ reviewers: Range<Int>,
        _ advance: inout Advance,
        _ context: inout RequestContext
    ) async throws -> Response {
        var outcome = outcome
        guard var request = advance.request.take() else { return try outcome.get() }
        if let signer = advance.signer, case .authorization(let place) = links.steps[signer] {
            place.interceptor.unsign(&request)
        }
        for position in reviewers.reversed() where links.steps[position].isReviewer {
            if case .success(let response) = outcome,
                links.steps[position].accepts(response, context)
            {
                continue
            }
            do {
                let first = FirstOutcome(outcome)
                outcome = .success(
                    try await intercept(request, at: position, first: first, &context)
                )
            } catch {
                outcome = .failure(attributed(error, toStep: position))
            }
        }
        return try outcome.get()
    }

    /// Returns an error with the name of the interceptor that threw it, or of the transport.
    private func attributed(_ error: any Error, toStep position: Int) -> any Error {
        guard position < links.steps.count else {
            return NetworkError.attributed(error, .transport)
        }
        let interceptor = links.steps[position].interceptor
        return NetworkError.attributed(error, .interceptor("\(type(of: interceptor))"))
    }
}

extension RequestChain {
    private final class Links: Sendable {
        let steps: [Link]
        let transport: any HTTPTransport

        init(_ steps: [Link], _ transport: any HTTPTransport) {
            self.steps = steps
            self.transport = transport
        }
    }

    /// The outcome of an attempt, which can be taken only once.
    private final class FirstOutcome: Sendable {
        private let outcome: Mutex<Result<Response, any Error>?>

        init(_ outcome: Result<Response, any Error>) {
            self.outcome = Mutex(outcome)
        }

        func take() -> Result<Response, any Error>? { outcome.withLock { $0.take() } }
    }
}
