import Synchronization

/// A single pass over a recorded body.
///
/// Only one task may read it at a time, like every `BodySource`.
final class ReplayReader: BodySource {
    let buffer: ReplayBuffer
    private let owner: Int
    private let position = Mutex(0)

    init(buffer: ReplayBuffer, owner: Int) {
        self.buffer = buffer
        self.owner = owner
    }

    func next() async throws -> ByteSlice? {
        var reached = position.withLock { $0 }
        defer { position.withLock { $0 = reached } }
        return try await buffer.next(owner, &reached)
    }

    func trailers() -> HTTPHeaders? { buffer.trailers() }

    func cancel() { buffer.cancel(owner) }
}
