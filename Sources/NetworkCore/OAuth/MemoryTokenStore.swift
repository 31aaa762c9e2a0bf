import Synchronization

/// Keeps tokens for the life of the process.
public final class MemoryTokenStore: TokenStoring {
    private let grant: Mutex<StoredGrant?>

    /// Starts with what is given.
    public init(_ grant: StoredGrant? = nil) {
        self.grant = Mutex(grant)
    }

    /// What is kept.
    public func read() async throws -> StoredGrant? { grant.withLock { $0 } }

    /// One manager owns the store, and it refreshes one at a time: nobody is waited for.
    public func lock() async throws -> any TokenStoreLock { MemoryLock(store: self) }

    private struct MemoryLock: TokenStoreLock {
        let store: MemoryTokenStore

        func read() async throws -> StoredGrant? { store.grant.withLock { $0 } }
        func write(_ grant: StoredGrant) async throws { store.grant.withLock { $0 = grant } }
        func remove() async throws { store.grant.withLock { $0 = nil } }
        func release() {}
    }
}
