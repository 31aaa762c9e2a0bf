import Synchronization

/// A streamed request body that knows whether anybody has asked for it: one that was can be sent no
/// second time.
final class WatchedBody: BodySource {
    private let source: any BodySource
    private let wasAsked = Atomic(false)

    /// Whether nothing was read of it.
    var isUntouched: Bool { !wasAsked.load(ordering: .relaxed) }

    init(_ source: any BodySource) {
        self.source = source
    }

    func next() async throws -> ByteSlice? {
        wasAsked.store(true, ordering: .relaxed)
        return try await source.next()
    }

    func buffered() -> ByteSlice? {
        wasAsked.store(true, ordering: .relaxed)
        return source.buffered()
    }

    func trailers() -> HTTPHeaders? { source.trailers() }

    func cancel() { source.cancel() }
}
