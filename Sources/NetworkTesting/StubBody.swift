import NetworkCore
import Synchronization

/// Content in pieces.
final class StubBody: BodySource {
    private let pieces: Mutex<ArraySlice<ByteSlice>>
    private let fault: NetworkError?

    init(_ pieces: [ByteSlice], _ fault: NetworkError?) {
        self.pieces = Mutex(pieces.filter { !$0.isEmpty }[...])
        self.fault = fault
    }

    func next() async throws -> ByteSlice? {
        if let piece = pieces.withLock({ $0.popFirst() }) { return piece }
        if let fault { throw fault }
        return nil
    }
}
