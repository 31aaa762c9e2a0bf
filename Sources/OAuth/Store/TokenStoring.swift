public import NetworkCore

/// Keeps the tokens of one grant family where a restart or another process finds them.
///
/// A family is everything that hangs off one refresh token, or one client for client credentials.
/// Its lock is what serialises renewals, among managers and among processes. Called away from event
/// loops; an implementation may block for the time of a disk write.
public protocol TokenStoring: Sendable {
    /// Takes the family's lock, waiting for whoever has it.
    ///
    /// - Throws: `TokenStoreError.locked` at the deadline, `.unavailable` if there can be no lock,
    ///   `CancellationError`.
    func lock(
        until deadline: ContinuousClock.Instant,
        clock: any NetworkClock
    ) async throws -> TokenStoreLock

    /// What is stored, or nothing.
    ///
    /// - Parameter lock: the family's lock, if the caller has it. Only its holder sets aside content
    ///   that makes no sense: for anybody else there may be something new in its place by then.
    /// - Returns: the record, or nothing where nothing was ever stored.
    /// - Throws: `TokenStoreError.corrupt` once for content that makes no sense, after setting it
    ///   aside; `.unavailable` if it cannot be read now, or makes no sense and nobody has the lock;
    ///   `.unreadable` if somebody else has put there what cannot be understood here.
    func load(under lock: TokenStoreLock?) async throws -> TokenRecord?

    /// Stores a record in place of the one with the revision given (0: in place of none); it is
    /// durable when this returns.
    ///
    /// - Throws: `TokenStoreError.conflict` if something else is stored; `.unavailable`.
    func save(_ record: TokenRecord, replacing revision: Int) async throws

    /// Removes the record with the revision given.
    ///
    /// - Throws: `TokenStoreError.conflict` if something else is stored; `.unavailable`.
    func remove(revision: Int) async throws
}

extension TokenStoring {
    /// What is stored, or nothing, without disturbing whoever has the lock.
    ///
    /// - Throws: `TokenStoreError.unavailable`.
    public func load() async throws -> TokenRecord? { try await load(under: nil) }
}

/// Why a token store did not do what was asked.
public enum TokenStoreError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Another process had the lock all the time.
    case locked(String)
    /// The system refused; in its own words.
    case unavailable(String)
    /// Something is stored that cannot be read here, such as what another version or key wrote: in it
    /// may be a newer refresh token than any known.
    case unreadable(String)
    /// The content made no sense and was moved to the name given.
    case corrupt(movedTo: String)
    /// Somebody else stored something in between.
    case conflict

    /// One clause a person can act on.
    public var description: String {
        switch self {
        case .locked(let path): "another process holds the lock \(path)"
        case .unavailable(let reason), .unreadable(let reason): reason
        case .corrupt(let path): "the token file made no sense and was moved to \(path)"
        case .conflict: "another process changed the stored tokens in between"
        }
    }
}

/// The right to renew the tokens of a family; ends with `release()` or with the last reference.
public final class TokenStoreLock: Sendable {
    private let onRelease: @Sendable () -> Void

    /// Makes a lock; `onRelease` must bear being called twice.
    public init(onRelease: @escaping @Sendable () -> Void) {
        self.onRelease = onRelease
    }

    /// Gives the lock back.
    public func release() { onRelease() }

    deinit { onRelease() }
}
