import NetproxyConfig
import NetproxyEventIO
import NetworkCore
import OAuth

extension OAuthAssembly {
    /// Returns the grant of the configured settings.
    ///
    /// - Throws: an error that names the unreadable or unusable value.
    func grant(
        _ settings: OAuthSettings,
        _ account: ServiceAccountKey?
    ) async throws -> OAuthConfiguration.Grant {
        let provider: (any GrantProviding)?
        switch settings.grant {
        case .clientCredentials: return .clientCredentials
        case .refreshToken, .authorizationCode, .deviceCode:
            return .refreshToken(initial: try await secret(settings.refreshToken))
        case .jwtBearer: provider = try await assertionGrant(settings, account)
        case .githubApp: provider = settings.installation.map(InstallationGrant.init)
        case .tokenExchange: provider = settings.exchange.map(exchangeGrant)
        case .byName: provider = settings.grantExtension.map(extensionGrant)
        }
        guard let provider else {
            throw IOError.system(
                "auth.oauth has no assertion or token for the grant \(settings.grant.rawValue)"
            )
        }
        return .provided(provider)
    }

    private func assertionGrant(
        _ settings: OAuthSettings,
        _ account: ServiceAccountKey?
    ) async throws -> AssertionGrant? {
        guard let assertion = settings.assertion else { return nil }
        let (subject, audience) = (assertion.subject, assertion.audience)
        if let account { return AssertionGrant(account, subject: subject, audience: audience) }
        guard case .key(let reference, let id) = assertion.signer else { return nil }
        let issuer = assertion.issuer ?? settings.clientID
        return AssertionGrant(
            key: try await signingKey(reference, id: id, "assertion.key"),
            issuer: issuer,
            subject: subject ?? issuer,
            audience: audience
        )
    }

    private func exchangeGrant(_ exchange: OAuthSettings.TokenExchange) -> ExchangeGrant {
        ExchangeGrant(
            subject: token(exchange.subjectToken, exchange.subjectTokenType),
            actor: exchange.actorToken.map { token($0, exchange.actorTokenType) },
            requestedType: exchange.requestedTokenType,
            identity: identity(of: [exchange.subjectToken, exchange.actorToken])
        )
    }

    private func extensionGrant(_ grant: OAuthSettings.GrantExtension) -> ExtensionGrant {
        ExtensionGrant(
            type: grant.type,
            secrets: grant.secrets.map { secret in
                ExtensionGrant.SecretParameter(secret.name, source: source(of: secret.value))
            },
            identity: identity(of: grant.secrets.map(\.value))
        )
    }

    /// Returns a fingerprint of the sources of the tokens.
    ///
    /// Other arguments or another literal may mean another account.
    private func identity(of references: [SecretReference?]) -> String {
        references.map { reference in
            reference.map { TokenRecord.fingerprint(Secret($0.text)) } ?? ""
        }.joined(separator: " ")
    }

    /// Returns a token whose source is read for each request, because files with tokens are replaced.
    private func token(_ reference: SecretReference, _ type: String) -> ExchangeGrant.Token {
        ExchangeGrant.Token(type: type, source: source(of: reference))
    }

    func source(
        of reference: SecretReference,
        as kind: SecretResolver.Kind = .line
    ) -> ExchangeGrant.Source {
        { [resolver = secrets.resolver] in
            let bytes = try await resolver.resolve(reference, as: kind)
            return Secret(String(decoding: bytes, as: UTF8.self))
        }
    }

    func serviceAccount(_ settings: OAuthSettings) async throws -> ServiceAccountKey? {
        guard case .serviceAccount(let reference) = settings.assertion?.signer else { return nil }
        do {
            return try ServiceAccountKey(json: try await secrets.document(reference))
        } catch let error as SigningKeyError {
            throw IOError.system("auth.oauth.assertion.service_account: \(reference): \(error)")
        }
    }

    func signingKey(
        _ reference: SecretReference,
        id: String?,
        _ key: String
    ) async throws -> SigningKey {
        do {
            return try SigningKey(pem: try await secrets.document(reference), id: id)
        } catch let error as SigningKeyError {
            throw IOError.system("auth.oauth.\(key): \(reference): \(error)")
        }
    }
}

extension InstallationGrant {
    fileprivate init(_ installation: OAuthSettings.Installation) {
        let permissions = installation.permissions.map { ($0.name, $0.access.rawValue) }
        self.init(
            Limits(
                repositories: installation.repositories,
                permissions: Dictionary(permissions) { _, last in last }
            )
        )
    }
}
