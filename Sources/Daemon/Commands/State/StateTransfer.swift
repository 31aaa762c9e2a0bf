import NetproxyChannels
package import NetproxyConfig
import NetproxyEventIO
import NetworkCore
import OAuth

/// Moves tokens from the configured store to a file and back, for `netproxy state`.
///
/// All token families stay locked until the work is done, so that no daemon renews in between.
package struct StateTransfer {
    /// A failure that the user can act on.
    package struct Failure: Error, CustomStringConvertible {
        /// One clause, without secrets.
        package let description: String
    }

    /// The maximum time to wait for a daemon's renewal.
    private static let patience = Duration.seconds(3)

    private struct Held {
        let family: String
        let store: any TokenStoring
        let lock: TokenStoreLock
        let content: TokenRecord?

        /// The stored tokens; `nil` after a sign-out.
        var record: TokenRecord? { content?.isSignedOut == true ? nil : content }
    }

    private let place: StatePlace
    private let loop: EventLoop
    private let clock = SystemClock()

    /// Opens the store of a configuration.
    ///
    /// - Throws: `Failure`.
    package init(_ configuration: ProxyConfiguration, environment: [String: String]) throws {
        do {
            loop = try EventLoop(index: 97)
            try loop.start()
            place = try StatePlace(
                configuration,
                secrets: SecretReader(SecretResolver(environment: environment)),
                loop: loop
            )
        } catch {
            throw Failure(description: "state: \(error)")
        }
    }

    /// Stops the background work; call no other method afterward.
    package func close() { loop.stop() }

    /// Runs some work, and waits until the store's locks are released.
    package func settling(_ work: () async throws -> Void) async throws {
        try await place.settling(work)
    }

    /// Writes all tokens to a file, and removes them from the store.
    ///
    /// - Parameters:
    ///   - path: the path of a new file.
    ///   - keeps: whether the tokens stay in the store, as for a backup.
    /// - Returns: the families, in order.
    /// - Throws: `Failure`, also if the file exists.
    package func export(to path: String, keeping keeps: Bool) async throws -> [String] {
        try await explaining {
            let held = try await lock(try await place.families())
            defer { release(held) }
            let found = held.compactMap { entry in entry.record.map { (entry, $0) } }
            guard !found.isEmpty else { throw Failure(description: "no tokens are stored") }
            let records = found.map { ($0.0.family, $0.1) }
            try TokenArchive(Dictionary(uniqueKeysWithValues: records))
                .write(to: path, by: try await place.seal())
            if !keeps {
                do {
                    for (entry, record) in found {
                        _ = try await entry.store.signOut(of: record, at: clock.wallNow)
                    }
                } catch {
                    throw Failure(
                        description:
                            "\(error); tokens that are in \(path) are still in the store: use "
                            + "one or the other, not both"
                    )
                }
            }
            return found.map(\.0.family)
        }
    }

    /// Stores the tokens in a file.
    ///
    /// - Parameters:
    ///   - path: the path of a file written by `export`.
    ///   - replaces: whether to replace stored tokens.
    /// - Returns: the families, in order.
    /// - Throws: `Failure`; if a family already has tokens, nothing is stored.
    package func `import`(from path: String, replacing replaces: Bool) async throws -> [String] {
        try await explaining {
            let archive = try TokenArchive(at: path, by: try await place.seal())
            let held = try await lock(archive.records.keys.sorted())
            defer { release(held) }
            let known = held.filter { $0.record != nil }.map(\.family)
            guard replaces || known.isEmpty else {
                throw Failure(
                    description: "there are tokens of \(known.joined(separator: ", ")) already; "
                        + "--replace replaces them"
                )
            }
            var stored: [String] = []
            do {
                for entry in held {
                    guard var record = archive.records[entry.family] else { continue }
                    let revision = entry.content?.revision ?? 0
                    record.revision =
                        await entry.store.nextRevision(of: record.session, after: revision)
                    try await entry.store.save(record, replacing: revision)
                    stored.append(entry.family)
                }
            } catch {
                guard !stored.isEmpty else { throw error }
                // Daemons may renew the stored tokens immediately, which invalidates those in the file.
                throw Failure(
                    description:
                        "\(error); the tokens of \(stored.joined(separator: ", ")) are stored, "
                        + "those of the others are not: do not replace the former with this file"
                )
            }
            return stored
        }
    }

    private func lock(_ families: [String]) async throws -> [Held] {
        var held: [Held] = []
        do {
            for family in families {
                let store = try await place.store(ofFamily: family)
                let lock = try await store.lock(until: clock.now + Self.patience, clock: clock)
                let record = try await store.load(under: lock)
                held.append(Held(family: family, store: store, lock: lock, content: record))
            }
        } catch {
            release(held)
            if case TokenStoreError.locked(let name) = error {
                throw Failure(
                    description:
                        "a daemon renews tokens now, and holds the lock \(name); try again in a "
                        + "moment, or stop it"
                )
            }
            throw error
        }
        return held
    }

    private func release(_ held: [Held]) {
        for entry in held { entry.lock.release() }
    }

    private func explaining<Result>(_ work: () async throws -> Result) async throws -> Result {
        do {
            return try await work()
        } catch let error as Failure {
            throw error
        } catch {
            throw Failure(description: "\(error)")
        }
    }
}
