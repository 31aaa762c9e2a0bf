/// A transport whose attempts are canceled at the context's deadline.
struct TimedTransport: HTTPTransport {
    let transport: any HTTPTransport
    let clock: any NetworkClock

    func send(
        _ request: consuming Request,
        context: inout RequestContext
    ) async throws -> Response {
        guard let deadline = context.deadline else {
            return try await transport.send(request, context: &context)
        }
        // The context keeps the facts of all attempts, even if the call fails.
        let kept = SharedValue(context)
        defer { context = kept.value }
        return try await TimeLimit.run(
            until: deadline,
            on: clock,
            setBy: context.deadlineSetting
        ) { [request, transport] in
            try await kept.change { try await transport.send(request, context: &$0) }
        }
    }

    func timed(by clock: any NetworkClock) -> any HTTPTransport { self }
}
