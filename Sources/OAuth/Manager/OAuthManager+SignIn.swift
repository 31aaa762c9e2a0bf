import NetworkCore

extension OAuthManager {
    /// Presents a grant that a person has just obtained, such as an authorization code, and starts
    /// the family anew with the tokens that come of it.
    ///
    /// It is presented once and never repeated (RFC 6749 §4.1.2). If it fails, what was there before
    /// stays as it was.
    ///
    /// - Parameter grant: what is presented.
    /// - Throws: `NetworkError` of kind `.credentialUnavailable` with the server's own words, or
    ///   `.cancelled`; the grant is spent in any case.
    public func signIn(with grant: TokenGrant) async throws {
        try await waitForRenewal()
        let room = renew(.signIn, presenting: grant).room
        let limit = clock.now + Renewal.limit(configuration)
        switch await room.wait(until: limit, as: .command) {
        case .outcome(.failed(let failure)), .outcome(.dead(let failure)):
            throw OAuthManager.unavailable(failure.detail, retryAfter: 1)
        case .outcome: return
        case .cancelled: throw OAuthManager.waitGivenUp
        case .timedOut, .full:
            throw OAuthManager.unavailable("the token request takes too long", retryAfter: 1)
        }
    }

    /// Asks for the tokens of a sign-in, under the lock.
    func signIn(
        presenting grant: TokenGrant,
        began: ContinuousClock.Instant
    ) async -> WaitingRoom.Outcome {
        let sent = clock.moment
        do {
            let response = try await service.tokens(
                for: grant,
                configuration: configuration,
                deadline: sent.steady + configuration.requestTimeout
            )
            // Whatever was stored may be another person's.
            ledger.dropAccessTokens()
            return await accept(
                response,
                grant: grant,
                reason: .signIn,
                sent: sent,
                began: began
            )
        } catch {
            return .failed(
                OAuthFailure(
                    kind: error.kind.rawValue,
                    detail: error.detail,
                    serverError: error.serverError,
                    at: clock.wallNow
                )
            )
        }
    }
}
