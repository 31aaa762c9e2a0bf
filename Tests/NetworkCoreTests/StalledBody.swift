import NetworkCore
import Synchronization

/// Content that stops coming; cancelling the reader ends its wait.
final class StalledBody: BodySource {
    private let beginning: Mutex<ByteSlice?>
    private let state = Mutex(false)
    private let outcome: Result<Void, any Error>

    /// - Parameters:
    ///   - beginning: its first piece, if there is one.
    ///   - outcome: whether a reader that is cancelled comes to an end or to a fault.
    init(
        _ beginning: String? = nil,
        whenCancelled outcome: Result<Void, any Error> = .failure(CancellationError())
    ) {
        self.beginning = Mutex(beginning.map { ByteSlice($0) })
        self.outcome = outcome
    }

    /// Whether the rest was given up.
    var isGivenUp: Bool { state.withLock { $0 } }

    func next() async throws -> ByteSlice? {
        let first = beginning.withLock { beginning in
            defer { beginning = nil }
            return beginning
        }
        if let first { return first }
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        defer { continuation.finish() }
        for await _ in stream {}
        try outcome.get()
        return nil
    }

    func cancel() { state.withLock { $0 = true } }
}

/// Content that stops coming, too; giving it up ends the wait for it, cancelling the reader does not.
final class DeafBody: BodySource {
    private let end = AsyncStream.makeStream(of: Void.self)

    func next() async throws -> ByteSlice? {
        // A task of its own, which nobody cancels.
        await Task { [end] in for await _ in end.stream {} }.value
        throw CancellationError()
    }

    func cancel() { end.continuation.finish() }
}
