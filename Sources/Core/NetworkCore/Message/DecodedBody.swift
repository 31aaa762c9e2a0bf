import NetproxyBytes
package import NetproxyInflation
import Synchronization

/// Content without one of its codings, decoded as its reader pulls it.
private final class DecodedBody: BodySource {
    private struct State: ~Copyable {
        var decompressor: Decompressor
        var input: ByteSlice
    }

    /// The source of the content after the first piece; `nil` if there is no more.
    private let source: (any BodySource)?
    private let state: Mutex<State>

    fileprivate init(
        _ first: ByteSlice,
        _ source: (any BodySource)?,
        _ decompressor: consuming sending Decompressor
    ) {
        self.source = source
        state = Mutex(State(decompressor: decompressor, input: first))
    }

    func next() async throws -> ByteSlice? {
        do {
            while true {
                if let piece = try piece() { return piece }
                guard let input = try await source?.nextUnlessCancelled() else {
                    try state.withLock { try $0.decompressor.finish() }
                    return nil
                }
                state.withLock { $0.input = input }
            }
        } catch let fault as Decompressor.Fault {
            source?.cancel()
            throw NetworkError(.httpResponseContentCoding, side: .upstream, detail: fault.reason)
        }
    }

    private func piece() throws -> ByteSlice? {
        try state.withLock { try $0.decompressor.next(from: &$0.input) }
    }

    func trailers() -> HTTPHeaders? { source?.trailers() }
    func cancel() { source?.cancel() }
}

extension HTTPBody {
    /// Returns the content without a coding; `nil` for a coding other than gzip and deflate.
    package func inflated(_ coding: Substring) -> HTTPBody? {
        guard let decompressor = Decompressor(inflating: coding) else { return nil }
        return decoded(by: decompressor)
    }

    /// Returns the decoded content.
    package func decoded(by decompressor: consuming sending Decompressor) -> HTTPBody {
        switch self {
        case .empty, .tunnel: self
        case .bytes(let bytes): .stream(DecodedBody(bytes, nil, decompressor), length: nil)
        case .stream(let source, _):
            .stream(DecodedBody(ByteSlice([]), source, decompressor), length: nil)
        }
    }
}
