import NetworkCore

/// Posts the client's forms to the endpoints beside the token endpoint: for device codes, revocation and
/// pushed authorization requests.
struct ClientExchange {
    /// The largest accepted response.
    private static let limit = 64 * 1024

    let transport: any HTTPTransport
    let configuration: OAuthConfiguration
    let clock: any NetworkClock
    /// The time by which the server's clock is ahead of ours.
    let clockOffset: Duration

    /// An addition to a form with the client's authentication.
    enum Companion {
        case none
        /// A proof of possession, where the configuration has a key (RFC 9449 §10.1).
        case proof
    }

    private struct Refusal: Decodable {
        var error: String
    }

    /// Posts a form, and again if the server only refused the client's secret, and another one is stored by
    /// now, or the nonce of the proof.
    ///
    /// - Throws: `TokenFailure` for a request that cannot be made, else the error of the transport.
    func post(
        _ form: [FormParameter],
        to endpoint: ServerEndpoint,
        with companion: Companion = .none
    ) async throws -> (response: Response, content: ByteSlice) {
        var plan = RenewalPlan(companion == .proof ? RenewalPlan.Remedy.ofRequest : [.newSecret])
        while true {
            let secret = configuration.presentedSecret
            let answer = try await send(form, to: endpoint, with: companion)
            let (response, content) = answer
            let document = ServerDocument.read(Refusal.self, from: content, response.headers)
            let refusal = RenewalPlan.Refusal(error: document?.error, configuration)
            guard await configuration.sendsAgain(after: refusal, secret, by: &plan) else {
                return answer
            }
        }
    }

    private func send(
        _ form: [FormParameter],
        to endpoint: ServerEndpoint,
        with companion: Companion
    ) async throws -> (response: Response, content: ByteSlice) {
        let request = try ClientRequest(configuration, at: clock.wallNow + clockOffset)
            .post(form, to: endpoint)
        var reader = DocumentReader(over: transport, clock: clock)
        if companion == .proof { reader.proof = configuration.proof }
        return try await reader.document(
            for: request,
            upTo: Self.limit,
            until: clock.now + configuration.requestTimeout
        )
    }
}
