/// Keeps the tokens of one grant family.
public protocol TokenStoring: Sendable {
    /// What is kept, without waiting for whoever is changing it.
    ///
    /// - Throws: `TokenStoreError`.
    func read() async throws -> StoredGrant?

    /// Waits until nobody else, in any process, changes the family.
    ///
    /// - Throws: `TokenStoreError` when that takes too long.
    func lock() async throws -> any TokenStoreLock
}

/// The right to change what is kept, until it is given up.
public protocol TokenStoreLock: Sendable {
    /// What is kept now.
    func read() async throws -> StoredGrant?
    /// Keeps it, durably before this returns.
    func write(_ grant: StoredGrant) async throws
    /// Forgets it.
    func remove() async throws
    /// Gives up the right. Harmless the second time.
    func release()
}

/// The store failed.
public struct TokenStoreError: Error, Sendable, CustomStringConvertible {
    /// What failed, with the file.
    public let description: String

    /// Records a failure.
    public init(_ description: String) {
        self.description = description
    }
}
