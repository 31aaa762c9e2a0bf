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

    /// Returns the highest revision of each session that this machine has used, as kept by
    /// `keepRevisions(_:)`: a record below it is an older copy. Empty from a store that keeps none.
    func revisions() async -> [String: Int]

    /// Keeps revisions for the next start; a failure leaves those kept before.
    func keepRevisions(_ revisions: [String: Int]) async

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
    /// None: an older copy of the record is recognized only while the process runs.
    public func revisions() async -> [String: Int] { [:] }

    /// Keeps nothing.
    public func keepRevisions(_ revisions: [String: Int]) async {}

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
    /// The store has not responded for this time.
    case unresponsive(Duration)
    /// The stored content is older than tokens that were used here, for this reason.
    case outdated(String)
    /// The content was corrupt and was moved to the name given.
    case corrupt(movedTo: String)
    /// Another process has changed the record.
    case conflict

    /// One clause that names the remedy.
    public var description: String {
        switch self {
        case .locked(let path): "another renewal holds the lock \(path)"
        case .unavailable(let reason), .unreadable(let reason), .outdated(let reason): reason
        case .unresponsive(let wait):
            "the token store has not responded for \(wait.written); check its disk or its server"
        case .corrupt(let path): "the token file was corrupt and was moved to \(path)"
        case .conflict: "another process has changed the stored tokens"
        }
    }
}

extension TokenStoreError {
    /// The kind of the fault.
    var fault: StoreFault {
        switch self {
        case .locked, .conflict: .locked
        case .unavailable: .unavailable
        case .unreadable: .unreadable
        case .unresponsive: .unresponsive
        case .outdated: .outdated
        case .corrupt: .corrupt
        }
    }
}

/// The lock of a family; held until `release()` or until the last reference is gone.
public final class TokenStoreLock: Sendable {
    private let holds: @Sendable () -> Bool
    private let onRelease: @Sendable () -> Void

    /// Makes a lock.
    ///
    /// - Parameters:
    ///   - holds: whether it is still held; `false` once a lease may have ended.
    ///   - onRelease: releases it; may be called twice.
    public init(
        holds: @escaping @Sendable () -> Bool = { true },
        onRelease: @escaping @Sendable () -> Void
    ) {
        self.holds = holds
        self.onRelease = onRelease
    }

    /// Whether it is still held: one with a lease ends if its holder was stopped or cut off for too long.
    public var isHeld: Bool { holds() }

    /// Releases the lock.
    public func release() { onRelease() }

    deinit { onRelease() }
}
