/// Ends what does not watch the time by itself.
package enum TimeLimit {
    /// Runs `operation`; past the deadline, which `setting` has set, it is cancelled.
    ///
    /// - Throws: `http_response_timeout` past the deadline, or the error of a response that was
    ///   being kept then; else what `operation` throws.
    package static func run<Result: Sendable>(
        until deadline: ContinuousClock.Instant?,
        on clock: any NetworkClock,
        setBy setting: TimeSetting? = nil,
        _ operation: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        guard let deadline else { return try await operation() }
        return try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask { try await operation() }
            group.addTask {
                try await clock.sleep(until: deadline)
                return nil
            }
            defer { group.cancelAll() }
            if let first = try await group.next(), let result = first { return result }
            group.cancelAll()
            do {
                _ = try await group.next()
            } catch let error as NetworkError where error.response != nil {
                // The response is known, though not to its end: it says more than the time does.
                throw error
            } catch {}
            throw NetworkError.timeout(.total, after: setting)
        }
    }
}

extension HTTPBody {
    /// Reads all of it, if it comes in time; what is late is given up.
    ///
    /// A transport answers for the head only: a body may last as long as its reader wants.
    ///
    /// - Throws: as `collect(upTo:)`, and `http_response_timeout` past the deadline.
    package func collect(
        upTo limit: Int,
        until deadline: ContinuousClock.Instant?,
        on clock: any NetworkClock
    ) async throws -> ByteSlice {
        guard case .stream(let source, _) = self, let deadline else {
            return try await collect(upTo: limit)
        }
        do {
            return try await TimeLimit.run(until: deadline, on: clock) {
                // A source need not notice that its reader was cancelled.
                try await withTaskCancellationHandler {
                    try await collect(upTo: limit)
                } onCancel: {
                    source.cancel()
                }
            }
        } catch {
            source.cancel()
            throw error
        }
    }
}

/// A transport whose attempts are cancelled at the context's deadline.
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
        // However it ends, the context tells what was tried.
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

/// An authorizer whose waits are cancelled at their deadline.
struct TimedAuthorizer: Authorizing {
    let authorizer: any Authorizing

    var kind: String { authorizer.kind }
    var fieldName: HTTPFieldName { authorizer.fieldName }
    var isSignedIn: Bool { authorizer.isSignedIn }
    var clock: any NetworkClock { authorizer.clock }

    func currentCredential() -> Credential? { authorizer.currentCredential() }

    func credential(until deadline: ContinuousClock.Instant?) async throws -> Credential {
        try await TimeLimit.run(until: deadline, on: clock) {
            try await authorizer.credential(until: deadline)
        }
    }

    func accepted(_ credential: Credential) { authorizer.accepted(credential) }

    func rejected(_ rejection: Rejection) async -> Verdict {
        do {
            return try await TimeLimit.run(until: rejection.deadline, on: clock) {
                await authorizer.rejected(rejection)
            }
        } catch {
            // The 401 says more than the time does.
            return .passThrough(.waitTimeout)
        }
    }

    func timed() -> any Authorizing { self }
}
