import Synchronization

/// Content that reports its end once, with the number of bytes.
final class EndingBody: BodySource {
    private let source: any BodySource
    private let end: @Sendable (_ count: Int, _ error: NetworkError?) -> Void
    private let count = Atomic(0)
    private let isOver = Atomic(false)

    init(
        _ source: any BodySource,
        _ end: @escaping @Sendable (_ count: Int, _ error: NetworkError?) -> Void
    ) {
        self.source = source
        self.end = end
    }

    deinit {
        // The reader has dropped the content.
        finish(.cancelled)
    }

    func next() async throws -> ByteSlice? {
        do {
            guard let piece = try await source.next() else {
                finish(Task.isCancelled ? .cancelled : nil)
                return nil
            }
            count.add(piece.count, ordering: .relaxed)
            return piece
        } catch {
            finish(.of(error))
            throw error
        }
    }

    func buffered() -> ByteSlice? {
        guard let piece = source.buffered() else { return nil }
        count.add(piece.count, ordering: .relaxed)
        return piece
    }

    func trailers() -> HTTPHeaders? { source.trailers() }

    func cancel() {
        source.cancel()
        finish(.cancelled)
    }

    private func finish(_ error: NetworkError?) {
        guard !isOver.exchange(true, ordering: .relaxed) else { return }
        end(count.load(ordering: .relaxed), error)
    }
}
