package import NetworkCore
package import OAuth

/// The credentials of a role, from the Security Token Service: assumed with other credentials
/// (AssumeRole), or with a token of an identity provider (AssumeRoleWithWebIdentity).
package struct AssumedRole: AWSCredentialSource {
    /// The role, and how its session is called.
    package struct Session: Sendable {
        /// The role's ARN.
        package var role: String
        /// The session's name, which the logs of the account show.
        package var name: String
        /// The external id that the role's trust policy requires.
        package var externalID: String?
        /// The lifetime of the credentials.
        package var duration: Duration?

        /// Describes a session.
        package init(
            role: String,
            name: String,
            externalID: String? = nil,
            duration: Duration? = nil
        ) {
            (self.role, self.name) = (role, name)
            (self.externalID, self.duration) = (externalID, duration)
        }
    }

    /// The proof of identity of the assuming party.
    package enum Proof: Sendable {
        /// Credentials, which sign the request.
        case credentials(any AWSCredentialSource)
        /// A token, read for each request because its file is replaced.
        case webIdentity(@Sendable () async throws -> Secret)
    }

    private let session: Session
    private let proof: Proof
    private let endpoint: ServerEndpoint
    private let region: String
    private let exchange: MetadataExchange

    /// Makes a source.
    ///
    /// - Parameters:
    ///   - session: the role.
    ///   - proof: the proof of identity.
    ///   - endpoint: the Security Token Service.
    ///   - region: its region.
    ///   - transport: sends to it.
    ///   - clock: the machine's, except in tests.
    package init(
        _ session: Session,
        with proof: Proof,
        at endpoint: ServerEndpoint,
        in region: String,
        over transport: any HTTPTransport,
        clock: any NetworkClock = SystemClock()
    ) {
        (self.session, self.proof) = (session, proof)
        (self.endpoint, self.region) = (endpoint, region)
        exchange = MetadataExchange("STS", over: transport, clock: clock)
    }

    package func credentials(
        _ reason: OAuthEvent.Reason,
        until deadline: ContinuousClock.Instant
    ) async throws(TokenFailure) -> IssuedCredentials {
        let request: @Sendable () async throws(TokenFailure) -> Request
        switch proof {
        case .credentials(let source):
            let signer = try await source.credentials(reason, until: deadline).credentials
            request = { () async throws(TokenFailure) in try await signed(by: signer) }
        case .webIdentity(let read):
            let token: Secret
            do {
                token = try await read()
            } catch {
                throw TokenFailure(.transient, detail: "the web identity token: \(error)")
            }
            request = { () throws(TokenFailure) in form("AssumeRoleWithWebIdentity", token) }
        }
        let source = "\(exchange.name) for \(session.role)"
        let offset = exchange.serverClock.offset
        var answer = try await exchange.answer(to: try await request(), until: deadline)
        let moved = exchange.serverClock.offset - offset
        if answer.status != 200,
            [.clockSkew, .requestExpired].contains(AWSRefusal([:], ByteSlice(answer.content))),
            max(moved, .zero - moved) >= ServerClock.blur
        {
            answer = try await exchange.answer(to: try await request(), until: deadline)
        }
        let document = STSDocument(answer.content)
        guard answer.status == 200 else {
            throw STSDocument.failure(answer.status, from: source, document)
        }
        guard let (credentials, end) = document?.credentials() else {
            throw TokenFailure(
                .transient,
                detail: "\(source) returned no complete Credentials element"
            )
        }
        let lifetime = end - exchange.serverClock.now
        guard lifetime > .zero else {
            throw TokenFailure(
                .transient,
                detail: "\(source) returned credentials that have expired"
            )
        }
        return IssuedCredentials(credentials, lifetime: lifetime)
    }

    private func form(_ action: String, _ webIdentity: Secret? = nil) -> Request {
        var parameters = [
            FormParameter("Action", action),
            FormParameter("Version", "2011-06-15"),
            FormParameter("RoleArn", session.role),
            FormParameter("RoleSessionName", session.name),
        ]
        if let duration = session.duration {
            parameters.append(FormParameter("DurationSeconds", String(duration.wholeSeconds)))
        }
        if let id = session.externalID, webIdentity == nil {
            parameters.append(FormParameter("ExternalId", id))
        }
        if let webIdentity {
            parameters.append(FormParameter("WebIdentityToken", webIdentity.reveal()))
        }
        var request = Request(method: .post, origin: endpoint.origin, target: endpoint.target)
        request.headers.append(
            .contentType,
            validated: "application/x-www-form-urlencoded; charset=utf-8"
        )
        request.headers.append(.accept, validated: "text/xml, application/xml")
        request.body = .bytes(ByteSlice(FormEncoding.encode(parameters)))
        return request
    }

    private func signed(by credentials: AWSCredentials) async throws(TokenFailure) -> Request {
        let options = AWSRequestSigner.Options(
            scope: SigningScope(region: region, service: "sts"),
            contentLimit: 64 * 1024
        )
        let signer = AWSRequestSigner(credentials, options, clock: exchange.serverClock)
        var request = form("AssumeRole")
        do {
            try await signer.sign(&request)
        } catch {
            throw TokenFailure(.configuration, detail: NetworkError.words(of: error))
        }
        return request
    }
}
