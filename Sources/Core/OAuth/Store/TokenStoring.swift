public import NetworkCore

/// Stores the tokens of one grant family where a restart or another process finds them.
///
/// A family is all tokens that descend from one refresh token, or those of one client for client
/// credentials. Its lock serializes renewals between managers and between processes. An implementation may
/// block for the time of a disk write, if `mayBlock` says so.
public protocol TokenStoring: Sendable {
    /// Takes the family's lock, waiting until it is free.
    ///
    /// - Throws: `TokenStoreError.locked` at the deadline, `.unavailable` if there can be no lock,
    ///   `CancellationError`.
    func lock(
        until deadline: ContinuousClock.Instant,
        clock: any NetworkClock
    ) async throws -> TokenStoreLock

    /// Returns the stored record.
    ///
    /// - Parameter lock: the family's lock, if the caller holds it. Only its holder sets corrupt content
    ///   aside: without the lock, the content may have been replaced by then.
    /// - Returns: the record, or `nil` if nothing is stored.
    /// - Throws: `TokenStoreError.corrupt` once for corrupt content, after setting it aside;
    ///   `.unavailable` if it cannot be read now, or is corrupt and the lock is not held; `.unreadable`
    ///   if another version or another key has written it.
    func load(under lock: TokenStoreLock?) async throws -> TokenRecord?

    /// Replaces the record of the revision given (0: no record); the new one is durable on return.
    ///
    /// - Throws: `TokenStoreError.conflict` if something else is stored; `.unavailable`.
    func save(_ record: TokenRecord, replacing revision: Int) async throws

    /// Removes the record of the revision given.
    ///
    /// - Throws: `TokenStoreError.conflict` if something else is stored; `.unavailable`.
    func remove(revision: Int) async throws

    /// Whether the store would remember a sign-out: then a missing record is one. `false` if the store
    /// itself is gone, like a removed directory.
    func remembersSignOut() async -> Bool

    /// Whether other machines use the store, too: then a refresh token is presented only if the store
    /// could record it.
    var isShared: Bool { get }

    /// Whether a method may block its thread: then none is called on an event loop.
    var mayBlock: Bool { get }

    /// Takes the family's lock, unless the stored record has changed since it was last loaded or saved
    /// here: another process may have renewed the token meanwhile.
    ///
    /// - Returns: `nil` if the stored record has changed.
    /// - Throws: as `lock(until:clock:)`.
    func lockUnlessChanged(
        until deadline: ContinuousClock.Instant,
        clock: any NetworkClock
    ) async throws -> TokenStoreLock?

    /// The stored record after each change by another process; `nil` from a store that cannot report
    /// changes. Ends when its reader is cancelled.
    func changes() -> AsyncStream<TokenRecord?>?
}

extension TokenStoring {
    /// Yes: nothing but a sign-out removes a record.
    public func remembersSignOut() async -> Bool { true }

    /// No: processes of one machine use it, and an unsaved record is not lost while they run.
    public var isShared: Bool { false }

    /// Yes: it may be on a disk.
    public var mayBlock: Bool { true }

    /// Takes the lock, even if the record has changed.
    public func lockUnlessChanged(
        until deadline: ContinuousClock.Instant,
        clock: any NetworkClock
    ) async throws -> TokenStoreLock? {
        try await lock(until: deadline, clock: clock)
    }

    /// `nil`: changes are found when the store is read.
    public func changes() -> AsyncStream<TokenRecord?>? { nil }

    /// Returns the stored record without holding the lock.
    ///
    /// - Throws: `TokenStoreError.unavailable`.
    public func load() async throws -> TokenRecord? { try await load(under: nil) }
}

/// The reason of a token store's failure.
@nonexhaustive
public enum TokenStoreError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Another process held the lock until the deadline.
    case locked(String)
    /// The system refused, for this reason.
    case unavailable(String)
    /// The stored content cannot be read, such as when another version or key wrote it: it may hold a
    /// newer refresh token than any known.
    case unreadable(String)
    /// The content was corrupt and was moved to the name given.
    case corrupt(movedTo: String)
    /// Another process has changed the record.
    case conflict

    /// One clause that names the remedy.
    public var description: String {
        switch self {
        case .locked(let path): "another renewal holds the lock \(path)"
        case .unavailable(let reason), .unreadable(let reason): reason
        case .corrupt(let path): "the token file was corrupt and was moved to \(path)"
        case .conflict: "another process has changed the stored tokens"
        }
    }
}

/// The lock of a family; held until `release()` or until the last reference is gone.
public final class TokenStoreLock: Sendable {
    /// The age of a store when its lock was taken.
    public enum StoreAge: Sendable {
        case existing
        /// The store was made for the lock. An earlier one, if any, was removed as a whole, which does
        /// not count as a sign-out.
        case new
    }

    /// The age of the store.
    public let storeAge: StoreAge
    private let holds: @Sendable () -> Bool
    private let onRelease: @Sendable () -> Void

    /// Makes a lock.
    ///
    /// - Parameters:
    ///   - storeAge: the age of the store.
    ///   - holds: whether it is still held; `false` once a lease may have ended.
    ///   - onRelease: releases it; may be called twice.
    public init(
        storeAge: StoreAge = .existing,
        holds: @escaping @Sendable () -> Bool = { true },
        onRelease: @escaping @Sendable () -> Void
    ) {
        self.storeAge = storeAge
        self.holds = holds
        self.onRelease = onRelease
    }

    /// Whether it is still held: one with a lease ends if its holder was stopped or cut off for too long.
    public var isHeld: Bool { holds() }

    /// Releases the lock.
    public func release() { onRelease() }

    deinit { onRelease() }
}
