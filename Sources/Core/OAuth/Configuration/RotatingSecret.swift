public import NetworkCore
import Synchronization

/// A client's secret, or its key in PEM, that is read again when the server refuses it: secrets are
/// replaced while programs run.
public final class RotatingSecret: Sendable {
    /// Reads the secret from its source.
    public typealias Source = @Sendable () async throws -> Secret

    private let current: Mutex<Secret>
    private let source: Source

    /// Begins with a secret.
    ///
    /// - Parameters:
    ///   - first: the secret.
    ///   - source: reads the secret.
    public init(_ first: Secret, source: @escaping Source) {
        current = Mutex(first)
        self.source = source
    }

    /// The last secret that was read.
    public var value: Secret { current.withLock { $0 } }

    /// Reads the secret again, unless it has changed since it was presented.
    ///
    /// - Parameter refused: the presented secret.
    /// - Returns: whether another one was found.
    func renew(afterRefusalOf refused: Secret) async -> Bool {
        if value != refused { return true }
        do {
            let found = try await source()
            guard found != refused else { return false }
            current.withLock { $0 = found }
            return true
        } catch {
            // The refusal is the better message: the secret was readable when it was first read.
            return false
        }
    }
}

extension OAuthConfiguration {
    /// The secret to authenticate with.
    var presentedSecret: Secret? { rotatingSecret?.value ?? clientSecret }

    /// The key that the client signs with.
    ///
    /// - Throws: `TokenFailure` without one that can be used.
    func signingKey() throws(TokenFailure) -> SigningKey {
        let key: SigningKey?
        do throws(SigningKeyError) {
            key = try presentedKey()
        } catch {
            throw TokenFailure(.configuration, detail: "client_key: \(error)")
        }
        guard let key else {
            throw TokenFailure(
                .configuration,
                detail: "client_key: the key to sign with is missing"
            )
        }
        return key
    }

    /// The key to sign an assertion with.
    ///
    /// - Throws: `SigningKeyError` if the new text is not a key.
    private func presentedKey() throws(SigningKeyError) -> SigningKey? {
        guard let clientKey, let rotatingSecret else { return clientKey }
        return try SigningKey(pem: rotatingSecret.value, id: clientKey.id)
    }

    /// Reads the client's secret again after the server refused it (`invalid_client`).
    ///
    /// - Parameter refused: the presented secret.
    /// - Returns: whether another one was found.
    func renewSecret(afterRefusalOf refused: Secret?) async -> Bool {
        guard let rotatingSecret, let refused else { return false }
        return await rotatingSecret.renew(afterRefusalOf: refused)
    }
}
