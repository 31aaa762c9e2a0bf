import Synchronization

/// A streamed request body that knows whether anybody has asked for it: one that was can be sent no
/// second time.
final class WatchedBody: BodySource {
    let source: any BodySource
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

extension HTTPBody {
    /// Whether all of it can be sent, as far as is known.
    var isWhole: Bool {
        guard case .stream(let source as WatchedBody, _) = self else { return true }
        return source.isUntouched
    }
}
