import NetproxyAWSSigning
package import NetproxyConfig
import NetproxyEventIO
import NetproxyHTTPMessage
import NetproxySystem
import NetworkCore
import OAuth
import OriginTransport

extension AWSSettings: CredentialProviding {
    package func credential(
        for channel: ChannelConfiguration,
        in context: CredentialContext
    ) async throws -> RunningCredential {
        let options = signingOptions(for: channel)
        do {
            let assembly = try AWSAssembly(context)
            if role == nil, case .keys(let keys) = source {
                // Do not use the token engine: it pauses after a rejection, but keys may be replaced at any
                // time.
                let base = context.rotating(
                    try await assembly.first(keys).held(),
                    from: secretReferences
                ) { try await assembly.current(keys).held() }
                return running(AWSAuthorizer(base, options))
            }
            let source = try await assembly.source(self, in: options.scope.region)
            let manager = AWSAuthorizer.manager(of: source, onEvent: context.onEvent)
            return running(AWSAuthorizer(manager, options), engine: manager)
        } catch {
            throw IOError.system("\(context.owner): \(error)")
        }
    }

    /// Returns the credential for a channel; requests are signed for that channel's own upstream.
    package func adapted(
        _ known: RunningCredential,
        to channel: ChannelConfiguration
    ) -> RunningCredential? {
        guard let authorizer = known.authorizer as? AWSAuthorizer else { return nil }
        return running(
            AWSAuthorizer(authorizer.base, signingOptions(for: channel)),
            engine: known.engine
        )
    }

    private func running(
        _ authorizer: AWSAuthorizer,
        engine: OAuthManager? = nil
    ) -> RunningCredential {
        RunningCredential(
            authorizer: authorizer,
            engine: engine,
            refusals: AWSRefusal.further
        )
    }

    /// The region of the Security Token Service, if it follows from the channel's upstream.
    package func dependence(on channel: ChannelConfiguration) -> String? {
        tokenRegion(for: channel.upstreams.first?.origin)
    }

    package func trial(
        for channel: ChannelConfiguration?,
        in context: CredentialContext
    ) -> CredentialTrial? {
        // Static keys without a role need no request.
        if role == nil, case .keys = source { return nil }
        return CredentialTrial(subject: "credentials for AWS") {
            let scope = scope(for: channel?.upstreams.first?.origin)
            let source = try await AWSAssembly(context)
                .source(self, in: scope.region ?? "us-east-1")
            let issued = try await source.credentials(.initial, until: .now + CredentialTrial.limit)
            guard let lifetime = issued.lifetime else { return "were issued" }
            return "were issued, valid for \(lifetime.components.seconds) s"
        }
    }
}

/// Creates the source of AWS credentials from the configuration and the environment.
private struct AWSAssembly {
    let secrets: SecretReader
    let environment: [String: String]
    let report: OperatorReport
    /// The transport for the Security Token Service and metadata services.
    let transport: any HTTPTransport
    /// The channel or identity that owns the credentials.
    let owner: CredentialConfiguration.Owner

    init(_ context: CredentialContext) throws {
        secrets = context.secrets
        environment = context.environment
        report = context.report
        transport = try context.oauthClients.transport(trustedBy: context.credential.tls)
        owner = context.owner
    }

    /// Returns the source of the credentials.
    ///
    /// - Parameters:
    ///   - settings: the configuration.
    ///   - region: the channel's region, for the Security Token Service.
    /// - Returns: the source.
    /// - Throws: an error that names the unreadable or unusable value.
    func source(
        _ settings: AWSSettings,
        in region: String
    ) async throws -> any AWSCredentialSource {
        guard let role = settings.role else { return try await base(settings.source) }
        let (url, tokenRegion) = role.tokenService(in: region)
        let proof: AssumedRole.Proof
        if let reference = role.webIdentityToken {
            proof = .webIdentity { [resolver = secrets.resolver] in
                Secret(String(decoding: try await resolver.resolve(reference), as: UTF8.self))
            }
        } else {
            proof = .credentials(try await base(settings.source))
        }
        return AssumedRole(
            AssumedRole.Session(
                role: role.arn,
                name: role.sessionName ?? String("netproxy-\(owner.name)".prefix(64)),
                externalID: role.externalID,
                duration: role.duration
            ),
            with: proof,
            at: ServerEndpoint(url),
            in: tokenRegion,
            over: transport
        )
    }

    private func base(_ source: AWSSettings.Source?) async throws -> any AWSCredentialSource {
        switch source {
        case .keys(let keys): try await configured(keys)
        case .exec(let command): program(command)
        case .container: container()
        case .instance: try instance()
        case nil: throw IOError.system("aws has no credentials")
        }
    }

    // MARK: - Sources

    /// Returns the keys that the start or the reload has read.
    ///
    /// - Throws: an error that names the unreadable or unusable value.
    func first(_ keys: AWSSettings.Keys) async throws -> AWSCredentials {
        do {
            return try await read(keys) { reference throws(SecretError) in
                try await secrets.secret(reference)
            }
        } catch let error as IOError {
            throw IOError.system("\(owner.key("aws")): \(error)")
        }
    }

    /// Reads the keys again.
    ///
    /// - Throws: an error that names the unreadable or unusable value.
    func current(_ keys: AWSSettings.Keys) async throws -> AWSCredentials {
        try await read(keys) { reference throws(SecretError) in
            let bytes = try await secrets.resolver.resolve(reference)
            return Secret(String(decoding: bytes, as: UTF8.self))
        }
    }

    /// Returns a source of keys for assuming a role; it reads the keys again if AWS rejects them.
    private func configured(_ keys: AWSSettings.Keys) async throws -> any AWSCredentialSource {
        let issued = IssuedCredentials(try await first(keys))
        return ProvidedCredentials { [self] reason throws(TokenFailure) in
            guard reason != .initial else { return issued }
            do {
                return IssuedCredentials(try await current(keys))
            } catch {
                throw TokenFailure(.transient, detail: "\(owner.key("aws")): \(error)")
            }
        }
    }

    private func read(
        _ keys: AWSSettings.Keys,
        _ secret: (SecretReference) async throws(SecretError) -> Secret
    ) async throws -> AWSCredentials {
        let id =
            switch keys.accessKeyID {
            case .text(let text): text
            case .secret(let reference): try await secret(reference).reveal()
            }
        var token: Secret?
        if let reference = keys.sessionToken { token = try await secret(reference) }
        let credentials = AWSCredentials(
            accessKeyID: id,
            secretAccessKey: try await secret(keys.secretAccessKey),
            sessionToken: token
        )
        guard let credentials else {
            throw IOError.system("a key has a character that no key of AWS has, such as a blank")
        }
        return credentials
    }

    private func program(_ command: [String]) -> any AWSCredentialSource {
        let program = HelperProgram(
            command: command,
            environment: environment.filter { HelperTokens.variables.contains($0.key) }
        )
        let title = "the credential_process \(command.first ?? "")"
        return ProvidedCredentials { [report, owner] _ throws(TokenFailure) in
            let output = try await program.output(as: title, for: owner, report)
            return try CredentialDocument(output, of: .process, from: title)
                .issued(at: SystemClock().wallNow, by: title)
        }
    }

    private func container() -> any AWSCredentialSource {
        let token = environment["AWS_CONTAINER_AUTHORIZATION_TOKEN"].flatMap { text in
            text.isEmpty ? nil : Secret(text)
        }
        let file = environment["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"].flatMap { path in
            path.isEmpty ? nil : SecretReference.file(path)
        }
        do throws(ContainerCredentials.Unusable) {
            return try ContainerCredentials(environment: environment, over: transport) {
                [resolver = secrets.resolver] in
                guard let file else { return token }
                return Secret(String(decoding: try await resolver.resolve(file), as: UTF8.self))
            }
        } catch {
            // Only this credential is affected, and a change of the file would not help.
            let detail = "\(owner.key("aws.source")): \(error)"
            report("\(owner): \(detail)")
            return ProvidedCredentials { _ throws(TokenFailure) in
                throw TokenFailure(.configuration, detail: detail)
            }
        }
    }

    private func instance() throws -> any AWSCredentialSource {
        let variable = "AWS_EC2_METADATA_SERVICE_ENDPOINT"
        guard let text = environment[variable], !text.isEmpty else {
            return InstanceCredentials(over: transport)
        }
        guard let endpoint = ServerEndpoint(text) else {
            throw IOError.system(
                "\(owner.key("aws.source")): \(variable) is not an http or https URL"
            )
        }
        return InstanceCredentials(at: endpoint, over: transport)
    }
}

extension AWSSettings {
    /// Returns the signing options for a channel's requests.
    fileprivate func signingOptions(for channel: ChannelConfiguration) -> AWSRequestSigner.Options {
        let scope = scope(for: channel.upstreams.first?.origin)
        var options = AWSRequestSigner.Options(
            // A stub without an upstream verifies nothing.
            scope: SigningScope(
                region: scope.region ?? "us-east-1",
                service: scope.service ?? "execute-api"
            ),
            contentLimit: channel.retry.replayBody.bytes
        )
        if case .name(let name) = channel.host { options.authority = name }
        return options
    }
}
