/// An authorizer whose waits are canceled at their deadline.
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
            // Return the 401, which tells the client more than the timeout does.
            return .passThrough(.waitTimeout)
        }
    }

    func timed() -> any Authorizing { self }
}
