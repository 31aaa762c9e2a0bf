import Synchronization

/// Content that reports its progress.
final class MeteredBody: BodySource {
    private let source: any BodySource
    private let total: Int?
    private let report: @Sendable (TransferProgress) -> Void
    private let direction: TransferProgress.Direction
    private let passed: Atomic<Int>

    init(
        _ source: any BodySource,
        total: Int?,
        earlier: Int = 0,
        _ direction: TransferProgress.Direction,
        _ report: @escaping @Sendable (TransferProgress) -> Void
    ) {
        self.source = source
        self.total = total
        self.report = report
        self.direction = direction
        passed = Atomic(earlier)
    }

    /// Meters the content of a request; short content is reported as a whole.
    static func upload(
        _ body: HTTPBody,
        _ report: @escaping @Sendable (TransferProgress) -> Void
    ) -> HTTPBody {
        switch body {
        case .empty, .tunnel: return body
        case .bytes(let bytes) where bytes.count <= FileContent.inlineLimit:
            report(
                TransferProgress(direction: .upload, transferred: bytes.count, total: bytes.count)
            )
            return body
        case .bytes(let bytes):
            let source = SlicedBody(bytes)
            return .stream(
                MeteredBody(source, total: bytes.count, .upload, report),
                length: bytes.count
            )
        case .stream(let source, let length):
            return .stream(MeteredBody(source, total: length, .upload, report), length: length)
        }
    }

    /// Meters the content of a response; content in memory is reported as a whole.
    static func download(
        _ body: HTTPBody,
        _ report: @escaping @Sendable (TransferProgress) -> Void
    ) -> HTTPBody {
        switch body {
        case .empty, .tunnel: return body
        case .bytes(let bytes):
            guard !bytes.isEmpty else { return body }
            report(
                TransferProgress(direction: .download, transferred: bytes.count, total: bytes.count)
            )
            return body
        case .stream(let source, let length):
            return .stream(MeteredBody(source, total: length, .download, report), length: length)
        }
    }

    func next() async throws -> ByteSlice? {
        guard let piece = try await source.next() else { return nil }
        let transferred = passed.add(piece.count, ordering: .relaxed).newValue
        report(TransferProgress(direction: direction, transferred: transferred, total: total))
        return piece
    }

    func trailers() -> HTTPHeaders? { source.trailers() }
    func cancel() { source.cancel() }
}

/// A transport that reports the number of sent bytes of each attempt.
///
/// It is innermost, so that the steps around it still see repeatable content.
struct MeteringTransport: HTTPTransport {
    private let transport: any HTTPTransport
    private let report: @Sendable (TransferProgress) -> Void

    init(
        _ transport: any HTTPTransport,
        _ report: @escaping @Sendable (TransferProgress) -> Void
    ) {
        self.transport = transport
        self.report = report
    }

    func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        var metered = request
        metered.body = MeteredBody.upload(request.body, report)
        return try await transport.send(metered, context: &context)
    }
}
