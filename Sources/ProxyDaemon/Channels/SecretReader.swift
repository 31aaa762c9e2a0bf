import NetworkCore
import ProxyConfig
import Synchronization

/// Reads the secrets of one start or reload, each of them once: a program that prints one may take
/// long, or print another one the next time.
final class SecretReader: Sendable {
    private struct Known {
        var secrets: [SecretReference: Secret] = [:]
        var documents: [SecretReference: Secret] = [:]
    }

    /// Reads without remembering.
    let resolver: SecretResolver
    private let known = Mutex(Known())

    init(_ resolver: SecretResolver) {
        self.resolver = resolver
    }

    /// Returns a secret of one line.
    ///
    /// - Throws: an error that names the place.
    func secret(_ reference: SecretReference) async throws(SecretError) -> Secret {
        if let known = known.withLock({ $0.secrets[reference] }) { return known }
        let secret = Secret(String(decoding: try await resolver.resolve(reference), as: UTF8.self))
        known.withLock { $0.secrets[reference] = secret }
        return secret
    }

    /// Returns a key of several lines.
    ///
    /// - Throws: an error that names the place.
    func document(_ reference: SecretReference) async throws(SecretError) -> Secret {
        if let known = known.withLock({ $0.documents[reference] }) { return known }
        let bytes = try await resolver.resolve(reference, as: .document)
        let document = Secret(String(decoding: bytes, as: UTF8.self))
        known.withLock { $0.documents[reference] = document }
        return document
    }

    /// Forgets everything, so that it is read again.
    func forget() {
        known.withLock { $0 = Known() }
    }
}
