package import NetproxyConfig
import NetproxyEventIO
package import NetproxySettings
package import NetworkCore
import OAuth
import Synchronization

extension JWTSettings: CredentialProviding {
    package func credential(
        for _: ChannelConfiguration,
        in context: CredentialContext
    ) async throws -> RunningCredential {
        let tokens = try await SignedTokens(
            self,
            of: context.credential,
            context.secrets,
            context.report
        )
        return HelperAuthorizer(
            tokens,
            kind: context.kind,
            serverClock: tokens.serverClock,
            onEvent: context.onEvent
        ).running
    }

    /// The servers: the times of a token follow the clock of the server that checks them.
    package func dependence(on channel: ChannelConfiguration) -> String? {
        channel.upstreams.map { "\($0.origin)" }.sorted().joined(separator: " ")
    }
}

/// Signs the tokens of `auth.jwt`, instead of a token endpoint.
///
/// The engine requests a new token before the current one expires, and after a 401.
final class SignedTokens: OAuthService {
    /// The API's time of day, learned from its rejections.
    let serverClock: ServerClock
    private let token: Mutex<SelfSignedToken>
    /// Reads the key again; `nil` for a key that never changes.
    private let again: (@Sendable () async -> SelfSignedToken?)?

    /// Reads the key and creates a signer.
    ///
    /// - Throws: an error that names the credential if the key cannot be read or used.
    init(
        _ settings: JWTSettings,
        of credential: CredentialConfiguration,
        _ secrets: SecretReader,
        _ report: @escaping OperatorReport,
        clock: any NetworkClock = SystemClock()
    ) async throws {
        serverClock = ServerClock(clock: clock)
        let place = "\(credential.owner): \(credential.owner.key("jwt.key"))"
        let pem = try await secrets.document(settings.key)
        do {
            token = Mutex(try SelfSignedToken(settings, pem))
        } catch {
            throw IOError.system("\(place): \(settings.key): \(error)")
        }
        guard settings.key.isFile || settings.key.isProgram else {
            again = nil
            return
        }
        let (resolver, seldom) = (secrets.resolver, RateLimitedReport(report))
        again = {
            do {
                let bytes = try await resolver.resolve(settings.key, as: .document)
                let text = Secret(String(decoding: bytes, as: UTF8.self))
                return try SelfSignedToken(settings, text)
            } catch {
                seldom("\(place): \(settings.key): \(error); signing with the key read before")
                return nil
            }
        }
    }

    /// Signs a token; after a 401, reads the key again first.
    func tokens(
        for grant: TokenGrant,
        configuration: OAuthConfiguration,
        deadline: ContinuousClock.Instant
    ) async throws(TokenFailure) -> TokenResponse {
        var token = token.withLock { $0 }
        if grant.reason == .unauthorized, let again, let found = await again() {
            self.token.withLock { $0 = found }
            token = found
        }
        return TokenResponse(
            accessToken: try token.signed(at: serverClock.now),
            lifetime: token.validity
        )
    }
}

extension SigningKey {
    /// Parses a private key in PEM, which must match an algorithm.
    ///
    /// - Throws: `SigningKeyError`, or `SecretError` for a key of another algorithm.
    package init(jwtKey pem: Secret, id: String?, _ algorithm: SignatureAlgorithm?) throws {
        self = try SigningKey(pem: pem, id: id)
        guard let algorithm, self.algorithm != algorithm else { return }
        throw SecretError(
            "the key signs with \(self.algorithm.rawValue), not \(algorithm.rawValue); "
                + "change algorithm, or remove it"
        )
    }
}

extension SelfSignedToken {
    fileprivate init(_ settings: JWTSettings, _ pem: Secret) throws {
        self.init(
            key: try SigningKey(jwtKey: pem, id: settings.id, settings.algorithm),
            type: settings.type,
            claims: settings.claims,
            stamps: settings.stamps,
            lifetime: settings.lifetime
        )
    }
}
