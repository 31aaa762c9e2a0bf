package import NetworkCore
import Synchronization

/// A body that stalls; canceling the reader ends its wait.
package final class StalledBody: BodySource {
    private let beginning: Mutex<ByteSlice?>
    private let state = Mutex(false)
    private let outcome: Result<Void, any Error>

    /// Creates content that stalls after its beginning.
    ///
    /// - Parameters:
    ///   - beginning: its first piece, if any.
    ///   - outcome: the result for a canceled reader: the end of the body or an error.
    package init(
        _ beginning: String? = nil,
        whenCancelled outcome: Result<Void, any Error> = .failure(CancellationError())
    ) {
        self.beginning = Mutex(beginning.map { ByteSlice($0) })
        self.outcome = outcome
    }

    /// Whether the body was canceled.
    package var isGivenUp: Bool { state.withLock { $0 } }

    package func next() async throws -> ByteSlice? {
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

    package func cancel() { state.withLock { $0 = true } }
}

/// A body that stalls and ignores the cancellation of its reader; only `cancel()` ends the wait.
package final class DeafBody: BodySource {
    private let end = AsyncStream.makeStream(of: Void.self)

    package init() {}

    package func next() async throws -> ByteSlice? {
        // In a separate task, which is not canceled with the reader.
        await Task { [end] in for await _ in end.stream {} }.value
        throw CancellationError()
    }

    package func cancel() { end.continuation.finish() }
}

/// A body that arrives in pieces.
package final class PiecedBody: BodySource {
    private let pieces: Mutex<[String]>
    private let ending: HTTPHeaders?
    private let fault: NetworkError?

    package init(_ pieces: [String], trailers: HTTPHeaders? = nil, fault: NetworkError? = nil) {
        self.pieces = Mutex(pieces)
        ending = trailers
        self.fault = fault
    }

    package func next() async throws -> ByteSlice? {
        let piece = pieces.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        if piece == nil, let fault { throw fault }
        return piece.map { ByteSlice($0) }
    }

    package func trailers() -> HTTPHeaders? { ending }
}
