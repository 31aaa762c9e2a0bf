import FoundationEssentials
public import NetworkCore

/// Sends token requests to a token endpoint (RFC 6749 §3.2) over any transport.
///
/// The transport must not be one that injects tokens: the engine would wait for itself. It should end
/// at the context's deadline, or the engine only stops waiting for it. Nothing is
/// repeated here.
public struct TokenEndpointClient: OAuthService {
    /// The largest accepted response: 1 MiB, as in golang/oauth2.
    private static let responseLimit = 1 << 20

    /// The minimum time to read the body of a response, however late its head arrives.
    ///
    /// The machine may have been suspended, and the body may hold the only valid refresh token.
    private static let bodyTime = Duration.seconds(2)

    private let transport: any HTTPTransport
    let clock: any NetworkClock
    /// The server's time of day, for signatures that the server checks against its own clock.
    public let serverClock: ServerClock

    /// Makes a client.
    public init(transport: any HTTPTransport, clock: any NetworkClock = SystemClock()) {
        self.transport = transport
        self.clock = clock
        serverClock = ServerClock(clock: clock)
    }

    /// The time by which the token endpoint's clock is ahead of ours, from the `Date` of its last
    /// response.
    public var clockOffset: Duration { serverClock.offset }

    /// Presents a grant once.
    ///
    /// The request is sent again if the server only wanted another proof of possession (RFC 9449 §8), or
    /// refused the client's secret and another one is stored by now: neither spends the grant. Each time it
    /// has the whole time, since a response after the deadline could cost the grant.
    public func tokens(
        for grant: TokenGrant,
        configuration: OAuthConfiguration,
        deadline: ContinuousClock.Instant
    ) async throws(TokenFailure) -> TokenResponse {
        let time = deadline - clock.now
        var (deadline, configuration) = (deadline, configuration)
        if grant.refreshToken != nil, let endpoint = configuration.refreshEndpoint {
            configuration.tokenEndpoint = endpoint
        }
        var plan = RenewalPlan(grant.repeats == .byClient ? RenewalPlan.Remedy.ofRequest : [])
        let presentation = RenewalPlan.Presentation(grant: grant, use: .repeatedly)
        while true {
            let secret = configuration.presentedSecret
            let failure: TokenFailure
            do {
                return try await present(grant, configuration, deadline)
            } catch {
                failure = error
            }
            let refusal = RenewalPlan.Refusal(failure, of: presentation, configuration)
            guard await configuration.sendsAgain(after: refusal, secret, by: &plan) else {
                throw failure
            }
            deadline = clock.now + time
        }
    }

    private func present(
        _ grant: TokenGrant,
        _ configuration: OAuthConfiguration,
        _ deadline: ContinuousClock.Instant
    ) async throws(TokenFailure) -> TokenResponse {
        let offset = serverClock.offset
        let request = try TokenRequest.make(grant, configuration, at: clock.wallNow + offset)
        var reader = DocumentReader(over: transport, clock: clock)
        // A request with JSON carries an assertion instead.
        if grant.json == nil { reader.proof = configuration.proof }
        reader.condition = grant.mayBePresented
        let response = try await send(request, by: reader, configuration, deadline)
        let body: ByteSlice
        do {
            body = try await reader.content(
                of: response,
                upTo: TokenEndpointClient.responseLimit,
                until: max(deadline, clock.now + TokenEndpointClient.bodyTime)
            )
        } catch {
            throw TokenEndpointClient.unfinished(error, configuration)
        }
        serverClock.learn(from: response.headers)
        let now = clock.wallNow
        let parser = TokenResponseParser(response, body, to: grant, configuration, receivedAt: now)
        do throws(TokenFailure) {
            return try parser.tokens()
        } catch {
            var failure = error
            failure.clockOffset = offset
            throw failure
        }
    }

    /// Sends a request, unless its grant may not be presented any more.
    private func send(
        _ request: Request,
        by reader: DocumentReader,
        _ configuration: OAuthConfiguration,
        _ deadline: ContinuousClock.Instant
    ) async throws(TokenFailure) -> Response {
        if let condition = reader.condition, !condition() { throw .lockLost }
        do {
            return try await reader.send(request, until: deadline)
        } catch let failure as TokenFailure {
            throw failure
        } catch {
            if let condition = reader.condition, !condition(), Self.wasNotSent(error) {
                throw .lockLost
            }
            throw TokenEndpointClient.unreachable(error, configuration)
        }
    }

    private static func wasNotSent(_ error: any Error) -> Bool { describe(error).retry == .safe }

    private static func unreachable(
        _ error: any Error,
        _ configuration: OAuthConfiguration
    ) -> TokenFailure {
        let (detail, retry) = describe(error)
        let wasSent = retry != .safe
        return TokenFailure(
            wasSent ? .lost : .transient,
            detail: wasSent
                ? "no response from the token endpoint \(configuration.tokenEndpoint.origin) (\(detail))"
                : "the token endpoint \(configuration.tokenEndpoint.origin) cannot be reached (\(detail))"
        )
    }

    private static func unfinished(
        _ error: any Error,
        _ configuration: OAuthConfiguration
    ) -> TokenFailure {
        TokenFailure(
            .lost,
            detail: "the response of the token endpoint \(configuration.tokenEndpoint.origin) "
                + "cannot be read (\(describe(error).detail))"
        )
    }

    private static func describe(
        _ error: any Error
    ) -> (detail: String, retry: NetworkError.RetrySafety) {
        let words = error is CancellationError ? "cancelled" : NetworkError.words(of: error)
        guard let error = error as? NetworkError else { return (words, .unsafe) }
        // Without a connection nothing was sent, although a retry elsewhere would not be safe at once.
        return (words, error.kind == .connectionLimitReached ? .safe : error.retry)
    }
}
