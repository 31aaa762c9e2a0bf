import NetworkCore
import Synchronization

/// Content in pieces.
final class StubBody: BodySource {
    private let pieces: Mutex<ArraySlice<String>>
    private let fault: NetworkError?

    init(_ pieces: [String], _ fault: NetworkError?) {
        self.pieces = Mutex(pieces.filter { !$0.isEmpty }[...])
        self.fault = fault
    }

    func next() async throws -> ByteSlice? {
        if let piece = pieces.withLock({ $0.popFirst() }) { return ByteSlice(piece) }
        if let fault { throw fault }
        return nil
    }
}
