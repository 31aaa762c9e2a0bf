import NetproxyDecompression
import NetproxyInflation
import Synchronization

extension ContentCodings {
    /// The codings gzip, deflate, br and zstd.
    static let all = ContentCodings(accepted: "gzip, deflate, br, zstd") { body, name in
        let name = name.lowercased()
        // `x-gzip` is equivalent to `gzip` (RFC 9110 §8.4.1.3).
        let known = name == "x-gzip" ? "gzip" : name
        guard let coding = Decompressor.Coding(rawValue: known) else { return nil }
        switch body {
        case .empty, .tunnel: return body
        case .bytes(let bytes): return .stream(DecodedBody(SlicedBody(bytes), coding), length: nil)
        case .stream(let source, _): return .stream(DecodedBody(source, coding), length: nil)
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

    init(_ source: any BodySource, _ coding: Decompressor.Coding) {
        self.source = source
        state = Mutex(State(decompressor: Decompressor(coding)))
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
