import NetworkCore
import ProxyConfig
import Synchronization

/// The secrets of one start or reload, each read once: a program that prints one may take its time,
/// or never print the same twice.
final class SecretReadings: Sendable {
    private struct Known {
        var secrets: [SecretReference: Secret] = [:]
        var documents: [SecretReference: Secret] = [:]
    }

    /// Reads what is to be read each time.
    let resolver: SecretResolver
    private let known = Mutex(Known())

    init(_ resolver: SecretResolver) {
        self.resolver = resolver
    }

    /// A secret of one line.
    ///
    /// - Throws: an error that names the place.
    func secret(_ reference: SecretReference) async throws(SecretError) -> Secret {
        if let known = known.withLock({ $0.secrets[reference] }) { return known }
        let secret = Secret(String(decoding: try await resolver.resolve(reference), as: UTF8.self))
        known.withLock { $0.secrets[reference] = secret }
        return secret
    }

    /// A key of several lines.
    ///
    /// - Throws: an error that names the place.
    func document(_ reference: SecretReference) async throws(SecretError) -> Secret {
        if let known = known.withLock({ $0.documents[reference] }) { return known }
        let bytes = try await resolver.resolve(reference, as: .document)
        let document = Secret(String(decoding: bytes, as: UTF8.self))
        known.withLock { $0.documents[reference] = document }
        return document
    }

    /// Has everything read anew.
    func forget() {
        known.withLock { $0 = Known() }
    }
}
