public import FoundationEssentials
public import NetworkCore
import Synchronization

/// A place that keeps a few bytes, such as a keychain or a row of a database.
///
/// A token store for one process needs no more.
///
///     actor Keychain: TokenKeeping {
///         func store(_ tokens: Data) async throws { … }
///         func get() async throws -> Data? { … }
///         func remove() async throws { … }
///     }
///     let manager = OAuthManager(service: service, tokenStore: KeptTokens(in: keychain), …)
///
/// `TokenStoring` is for stores that several processes share.
public protocol TokenKeeping: Sendable {
    /// Replaces the stored bytes, which are secret; the new ones are durable on return.
    func store(_ tokens: Data) async throws

    /// The last stored bytes; `nil` if there are none.
    func get() async throws -> Data?

    /// Removes the bytes.
    func remove() async throws
}

/// Stores tokens in a place that keeps bytes: locks and revisions are those of this process.
public final class KeptTokens: TokenStoring {
    private let place: any TokenKeeping
    /// Only its lock is used.
    private let queue = MemoryTokenStore()
    /// The record of a sign-out, which the place does not keep.
    private let signOut = Mutex<TokenRecord?>(nil)

    /// Stores tokens in a place.
    public init(in place: any TokenKeeping) {
        self.place = place
    }

    /// Takes the lock; waiting calls get it in order.
    ///
    /// - Throws: `TokenStoreError.locked` at the deadline, `CancellationError`.
    public func lock(
        until deadline: ContinuousClock.Instant,
        clock: any NetworkClock
    ) async throws -> TokenStoreLock {
        try await queue.lock(until: deadline, clock: clock)
    }

    /// Returns the stored record.
    ///
    /// - Throws: `TokenStoreError.unavailable` with the error of the place, `.unreadable` for other
    ///   bytes than tokens.
    public func load(under lock: TokenStoreLock?) async throws -> TokenRecord? {
        guard let bytes = try await asking({ try await place.get() }) else {
            return signOut.withLock { $0 }
        }
        guard let record = TokenFile.decode(Array(bytes)) else {
            throw TokenStoreError.unreadable("the token store returned other bytes than tokens")
        }
        return record
    }

    /// Replaces the record of a revision; after a sign-out the place keeps nothing.
    ///
    /// - Throws: `TokenStoreError.conflict`, `.unavailable`.
    public func save(_ record: TokenRecord, replacing revision: Int) async throws {
        guard try await load(under: nil)?.revision ?? 0 == revision else {
            throw TokenStoreError.conflict
        }
        if record.isSignedOut {
            try await asking { try await place.remove() }
        } else {
            let bytes = Data(try TokenFile.encode(record))
            try await asking { try await place.store(bytes) }
        }
        signOut.withLock { $0 = record.isSignedOut ? record : nil }
    }

    private func asking<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as TokenStoreError {
            throw error
        } catch {
            throw TokenStoreError.unavailable("the token store failed: \(error)")
        }
    }
}
