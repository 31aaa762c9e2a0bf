/// Where a body goes that is too long to be kept in memory for a replay.
public struct BodySpill: Sendable, Hashable {
    /// Where the file lies, which has no name and ends with the exchange.
    public var directory: String
    /// How long a body may be at most, in bytes, its beginning in memory included.
    public var limit: Int

    /// Names a place.
    public init(directory: String, limit: Int) {
        self.directory = directory
        self.limit = limit
    }
}

/// File access on a thread that may wait, whatever event loop the caller runs on.
package enum DiskAccess {
    package static func run<Result: Sendable>(
        _ work: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        // Awaited on the next line, and short.
        let task = Task(executorPreference: globalConcurrentExecutor) { try work() }
        return try await task.value
    }
}
