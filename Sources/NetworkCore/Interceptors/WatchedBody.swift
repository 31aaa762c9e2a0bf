import Synchronization

/// A request body that is read once, and knows whether anybody has begun to: then it cannot be sent
/// again.
final class WatchedBody: BodySource {
    private let source: any BodySource
    private let wasTouched = Atomic(false)

    /// Whether nothing was read of it, and nobody has given it up.
    var isUntouched: Bool { !wasTouched.load(ordering: .relaxed) }

    init(_ source: any BodySource) {
        self.source = source
    }

    func next() async throws -> ByteSlice? {
        wasTouched.store(true, ordering: .relaxed)
        return try await source.next()
    }

    func buffered() -> ByteSlice? {
        wasTouched.store(true, ordering: .relaxed)
        return source.buffered()
    }

    func trailers() -> HTTPHeaders? { source.trailers() }

    func cancel() {
        wasTouched.store(true, ordering: .relaxed)
        source.cancel()
    }
}
