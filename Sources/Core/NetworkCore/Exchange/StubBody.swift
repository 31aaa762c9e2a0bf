import Synchronization

/// Content in pieces, for stubs.
final class StubBody: BodySource {
    private let pieces: [ByteSlice]
    private let rest: Mutex<ArraySlice<ByteSlice>>
    private let fault: NetworkError?

    init(_ pieces: [ByteSlice], _ fault: NetworkError?) {
        self.pieces = pieces.filter { !$0.isEmpty }
        rest = Mutex(self.pieces[...])
        self.fault = fault
    }

    /// Returns the same content from its start, for another response.
    func again() -> StubBody { StubBody(pieces, fault) }

    func next() async throws -> ByteSlice? {
        if let piece = rest.withLock({ $0.popFirst() }) { return piece }
        if let fault { throw fault }
        return nil
    }
}
