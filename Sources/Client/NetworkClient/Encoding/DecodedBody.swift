import NetproxyDecompression
import Synchronization

extension ContentCodings {
    /// Returns the codings gzip, deflate, br and zstd.
    static func all(within limits: DecompressionLimits) -> ContentCodings {
        let growth = Decompressor.GrowthLimit(
            factor: limits.growth,
            from: limits.start,
            setting: "decompression.growth"
        )
        return ContentCodings(accepted: "gzip, deflate, br, zstd") { body, name in
            let name = name.lowercased()
            // `x-gzip` is equivalent to `gzip` (RFC 9110 §8.4.1.3).
            let known = name == "x-gzip" ? "gzip" : name
            guard let coding = Decompressor.Coding(rawValue: known) else { return nil }
            let source: any BodySource
            switch body {
            case .empty, .tunnel: return body
            case .bytes(let bytes): source = SlicedBody(bytes)
            case .stream(let stream, _): source = stream
            }
            return .stream(DecodedBody(source, coding, growth), length: nil)
        }
    }
}

/// Content without one of its codings, decoded as its reader pulls it.
private final class DecodedBody: BodySource {
    private struct State: ~Copyable {
        var decompressor: Decompressor
        var input = ByteSlice([])
    }

    private let source: any BodySource
    private let state: Mutex<State>

    init(
        _ source: any BodySource,
        _ coding: Decompressor.Coding,
        _ growth: Decompressor.GrowthLimit
    ) {
        self.source = source
        var decompressor = Decompressor(coding)
        decompressor.growth = growth
        state = Mutex(State(decompressor: decompressor))
    }

    func next() async throws -> ByteSlice? {
        do {
            while true {
                if let piece = try piece() { return piece }
                guard let input = try await source.nextUnlessCancelled() else {
                    try state.withLock { try $0.decompressor.finish() }
                    return nil
                }
                state.withLock { $0.input = input }
            }
        } catch let fault as Decompressor.Fault {
            source.cancel()
            throw NetworkError(.httpResponseContentCoding, side: .upstream, detail: fault.reason)
        }
    }

    private func piece() throws -> ByteSlice? {
        try state.withLock { try $0.decompressor.next(from: &$0.input) }
    }

    func trailers() -> HTTPHeaders? { source.trailers() }
    func cancel() { source.cancel() }
}
