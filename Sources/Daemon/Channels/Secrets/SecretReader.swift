package import NetproxyConfig
package import NetworkCore
import Synchronization

/// Reads the secrets of one start or reload, each of them once: a program that prints one may take
/// long, or print another one the next time.
package final class SecretReader: Sendable {
    private typealias Reading = Result<Secret, SecretError>

    private struct Known {
        var secrets: [SecretReference: Reading] = [:]
        var documents: [SecretReference: Reading] = [:]
        var lifetime: Duration?
    }

    /// How many programs run at the same time.
    private static let programLimit = 32

    /// Reads without remembering.
    package let resolver: SecretResolver
    private let known = Mutex(Known())

    package init(_ resolver: SecretResolver) {
        self.resolver = resolver
    }

    /// Returns a secret of one line.
    ///
    /// - Throws: an error that names the place.
    package func secret(_ reference: SecretReference) async throws(SecretError) -> Secret {
        if let known = known.withLock({ $0.secrets[reference] }) { return try known.get() }
        let reading = await read(reference, as: .line)
        known.withLock { $0.secrets[reference] = reading }
        return try reading.get()
    }

    /// Returns a key of several lines.
    ///
    /// - Throws: an error that names the place.
    func document(_ reference: SecretReference) async throws(SecretError) -> Secret {
        if let known = known.withLock({ $0.documents[reference] }) { return try known.get() }
        let reading = await read(reference, as: .document)
        known.withLock { $0.documents[reference] = reading }
        return try reading.get()
    }

    /// Runs the programs that print these secrets at the same time, so that a start takes as long as the
    /// slowest of them, and not as all together.
    ///
    /// What they printed, or why they failed, is returned by the calls to come.
    func runPrograms(secrets: [SecretReference], documents: [SecretReference]) async {
        var pending = Set(secrets.filter(\.isProgram)).map { ($0, SecretResolver.Kind.line) }
        pending += Set(documents.filter(\.isProgram)).map { ($0, .document) }
        await withTaskGroup(of: Void.self) { group in
            for (index, (reference, kind)) in pending.enumerated() {
                if index >= Self.programLimit { await group.next() }
                group.addTask {
                    // An error is remembered, and thrown to those who ask for the secret.
                    switch kind {
                    case .line: _ = try? await self.secret(reference)
                    case .document: _ = try? await self.document(reference)
                    }
                }
            }
        }
    }

    /// The shortest time for which one of the secrets that were read is valid, counted from about now;
    /// `nil` if none of them says.
    var lifetime: Duration? { known.withLock { $0.lifetime } }

    /// Forgets everything, so that it is read again.
    func forget() {
        known.withLock { $0 = Known() }
    }

    private func read(_ reference: SecretReference, as kind: SecretResolver.Kind) async -> Reading {
        do throws(SecretError) {
            let (bytes, lifetime) = try await resolver.read(reference, as: kind)
            if let lifetime {
                known.withLock { $0.lifetime = min($0.lifetime ?? lifetime, lifetime) }
            }
            return .success(Secret(String(decoding: bytes, as: UTF8.self)))
        } catch {
            return .failure(error)
        }
    }
}
