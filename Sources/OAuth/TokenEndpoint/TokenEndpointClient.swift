import FoundationEssentials
public import NetworkCore

/// Talks to a token endpoint (RFC 6749 §3.2) over any transport.
///
/// The transport must not be one that injects tokens: the engine would wait for itself. It should end
/// at the context's deadline (`keepsDeadlines`), or the engine only stops to wait for it. Nothing is
/// repeated and no redirect is followed here.
public struct TokenEndpointClient: OAuthService {
    /// The longest answer that is read.
    ///
    /// 1 MiB, as golang/oauth2.
    private static let responseLimit = 1 << 20

    /// How long the rest of an answer may take at least, however late its head comes.
    ///
    /// To a machine that was suspended meanwhile, say: in it may be the only refresh token that is
    /// still good.
    private static let bodyTime = Duration.seconds(2)

    private let transport: any HTTPTransport
    let clock: any NetworkClock
    /// What time it is there, for whoever signs something that the server judges by its clock.
    public let serverClock: ServerClock

    /// Makes a client.
    public init(transport: any HTTPTransport, clock: any NetworkClock = SystemClock()) {
        self.transport = transport
        self.clock = clock
        serverClock = ServerClock(clock: clock)
    }

    /// How far the token endpoint's clock is ahead of ours, by the `Date` of its last answer.
    public var clockOffset: Duration { serverClock.offset }

    /// Presents a grant once, and once more where the server has not looked at it for want of another
    /// proof of possession (RFC 9449 §8) and it may be presented twice.
    ///
    /// - Throws: `TokenFailure`.
    public func tokens(
        for grant: TokenGrant,
        configuration: OAuthConfiguration,
        deadline: ContinuousClock.Instant
    ) async throws(TokenFailure) -> TokenResponse {
        let time = deadline - clock.now
        do {
            return try await present(grant, configuration, deadline)
        } catch {
            guard configuration.proof != nil, ProofOfPossession.isAtFault(error.serverError),
                !error.mayBeSpent, !grant.isMadeAnew
            else { throw error }
        }
        // With time of its own: what is presented must not meet a deadline that is nearly over.
        return try await present(grant, configuration, clock.now + time)
    }

    private func present(
        _ grant: TokenGrant,
        _ configuration: OAuthConfiguration,
        _ deadline: ContinuousClock.Instant
    ) async throws(TokenFailure) -> TokenResponse {
        let offset = serverClock.offset
        let request = try TokenRequest.make(grant, configuration, at: clock.wallNow + offset)
        var context = RequestContext(deadline: deadline)
        let response: Response
        let body: ByteSlice
        do {
            response = try await transport.send(request, context: &context)
        } catch {
            throw TokenEndpointClient.unreachable(error, configuration)
        }
        do {
            body = try await response.body.collect(
                upTo: TokenEndpointClient.responseLimit,
                until: max(deadline, clock.now + TokenEndpointClient.bodyTime),
                on: clock
            )
        } catch {
            throw TokenEndpointClient.unfinished(error, configuration)
        }
        serverClock.learn(from: response.headers)
        configuration.proof?.learn(
            from: response.headers,
            of: configuration.tokenEndpoint.origin,
            as: .authorizationServer
        )
        let answer = TokenAnswer(
            status: response.status,
            headers: response.headers,
            document: TokenDocument.parse(body, response.headers),
            grant: grant,
            configuration: configuration,
            receivedAt: clock.wallNow
        )
        do throws(TokenFailure) {
            return try answer.tokens()
        } catch {
            var failure = error
            failure.clockOffset = offset
            throw failure
        }
    }

    private static func unreachable(
        _ error: any Error,
        _ configuration: OAuthConfiguration
    ) -> TokenFailure {
        let (detail, retry) = describe(error)
        let wasSent = retry != .safe
        return TokenFailure(
            wasSent ? .lost : .transient,
            detail: wasSent
                ? "no answer from the token endpoint \(configuration.tokenEndpoint.origin) (\(detail))"
                : "the token endpoint \(configuration.tokenEndpoint.origin) cannot be reached (\(detail))"
        )
    }

    private static func unfinished(
        _ error: any Error,
        _ configuration: OAuthConfiguration
    ) -> TokenFailure {
        TokenFailure(
            .lost,
            detail: "the answer of the token endpoint \(configuration.tokenEndpoint.origin) "
                + "broke off (\(describe(error).detail))"
        )
    }

    private static func describe(
        _ error: any Error
    ) -> (detail: String, retry: NetworkError.RetrySafety) {
        let words = error is CancellationError ? "cancelled" : NetworkError.words(of: error)
        guard let error = error as? NetworkError else { return (words, .unsafe) }
        // Who finds no connection has sent nothing, though others should not go after it at once.
        return (words, error.kind == .connectionLimitReached ? .safe : error.retry)
    }
}
