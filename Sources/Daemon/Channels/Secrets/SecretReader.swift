package import NetproxyConfig
package import NetworkCore
import Synchronization

/// Reads the secrets of one start, reload or recovery, each secret once for all channels.
///
/// A program that prints a secret may take long, or print a different one the next time.
package final class SecretReader: Sendable {
    private typealias Reading = Result<Secret, SecretError>

    private struct Key: Hashable {
        let reference: SecretReference
        let kind: SecretResolver.Kind
    }

    private enum Progress {
        case known(Secret)
        /// The reading is in progress or has ended.
        case reading(Task<Reading, Never>)
    }

    private struct Known {
        var entries: [Key: Progress] = [:]
        var lifetime: Duration?
    }

    /// The maximum number of concurrent programs.
    private static let programLimit = 32

    /// Reads secrets without remembering them.
    package let resolver: SecretResolver
    private let known = Mutex(Known())
    private let turns = Turns(programLimit)

    package init(_ resolver: SecretResolver) {
        self.resolver = resolver
    }

    /// Returns a secret of one line.
    ///
    /// - Throws: an error that names the place.
    package func secret(_ reference: SecretReference) async throws(SecretError) -> Secret {
        try await value(of: Key(reference: reference, kind: .line))
    }

    /// Returns a key of several lines.
    ///
    /// - Throws: an error that names the place.
    func document(_ reference: SecretReference) async throws(SecretError) -> Secret {
        try await value(of: Key(reference: reference, kind: .document))
    }

    /// Runs the programs that print these secrets concurrently.
    ///
    /// A reading then takes as long as the slowest program, not as long as all programs together. Later calls
    /// return the output or the error.
    func runPrograms(secrets: [SecretReference], documents: [SecretReference]) async {
        await withTaskGroup(of: Void.self) { group in
            // The error is remembered; `secret` and `document` throw it.
            for reference in Set(secrets) where reference.isProgram {
                group.addTask { _ = try? await self.secret(reference) }
            }
            for reference in Set(documents) where reference.isProgram {
                group.addTask { _ = try? await self.document(reference) }
            }
        }
    }

    /// The shortest lifetime stated by a program for one of the secrets; `nil` if none is stated.
    var lifetime: Duration? { known.withLock { $0.lifetime } }

    /// Forgets all secrets, so that they are read again.
    func forget() {
        known.withLock { $0 = Known() }
    }

    /// Remembers values read elsewhere.
    func hold(_ inputs: ChannelInputs) {
        known.withLock { known in
            for (reference, secret) in inputs.secrets {
                known.entries[Key(reference: reference, kind: .line)] = .known(secret)
            }
            for (reference, document) in inputs.documents {
                known.entries[Key(reference: reference, kind: .document)] = .known(document)
            }
        }
    }

    private func value(of key: Key) async throws(SecretError) -> Secret {
        let entry = known.withLock { known in
            let entry = known.entries[key] ?? .reading(Task { await self.read(key) })
            known.entries[key] = entry
            return entry
        }
        switch entry {
        case .known(let secret): return secret
        case .reading(let task):
            let reading = await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }
            return try reading.get()
        }
    }

    private func read(_ key: Key) async -> Reading {
        if key.reference.isProgram { await turns.take() }
        defer { if key.reference.isProgram { turns.give() } }
        do throws(SecretError) {
            let (bytes, lifetime) = try await resolver.read(key.reference, as: key.kind)
            if let lifetime {
                known.withLock { $0.lifetime = min($0.lifetime ?? lifetime, lifetime) }
            }
            return .success(Secret(String(decoding: bytes, as: UTF8.self)))
        } catch {
            return .failure(error)
        }
    }
}

/// Limits the number of tasks that run at the same time; the others wait in order.
private final class Turns: Sendable {
    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    init(_ count: Int) {
        state = Mutex(State(free: count))
    }

    func take() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.free > 0 else {
                    state.waiting.append(continuation)
                    return false
                }
                state.free -= 1
                return true
            }
            if isFree { continuation.resume() }
        }
    }

    func give() {
        let next = state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.free += 1
                return nil as CheckedContinuation<Void, Never>?
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}
