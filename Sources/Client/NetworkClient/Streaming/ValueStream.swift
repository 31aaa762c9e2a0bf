import FoundationEssentials

extension ResponseStream {
    /// Returns the values of content with one value per line (JSON Lines, NDJSON), as they arrive.
    ///
    /// Blank lines are skipped; the maximum length of a line is 1 MiB.
    ///
    /// - Parameters:
    ///   - type: the type of each line.
    ///   - decoder: a decoder that replaces the one of the call, the endpoint or the channel.
    /// - Returns: the values, as an asynchronous sequence that throws `NetworkError`: `undecodable_response`,
    ///   with the
    ///   line number, for an invalid line.
    public func values<Value: Decodable & Sendable>(
        of type: Value.Type = Value.self,
        using decoder: (any ContentDecoding)? = nil
    ) -> ValueStream<Value> {
        ValueStream(lines, decoder ?? self.decoder)
    }
}

/// The values of a body, one per line.
public struct ValueStream<Value: Decodable & Sendable>: AsyncSequence, Sendable {
    /// Reads the values.
    public struct Iterator: AsyncIteratorProtocol {
        private var lines: LineStream.Iterator
        private let decoder: any ContentDecoding
        private var number = 0

        init(_ lines: LineStream.Iterator, _ decoder: any ContentDecoding) {
            self.lines = lines
            self.decoder = decoder
        }

        /// Returns the next value; after an error for one line, the next call continues with the next line.
        ///
        /// - Throws: `NetworkError`; `undecodable_response` for a line that cannot be decoded.
        public mutating func next() async throws(NetworkError) -> Value? {
            try await next(isolation: #isolation)
        }

        /// Returns the next value, for `for try await`.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(NetworkError) -> Value? {
            while let line = try await lines.next(isolation: actor) {
                number += 1
                guard line.utf8.contains(where: { $0 != 0x20 && $0 != 0x09 }) else { continue }
                do {
                    return try decoder.decode(Value.self, from: Data(line.utf8))
                } catch {
                    throw .undecodable("line \(number) is no \(Value.self)", error)
                }
            }
            return nil
        }
    }

    private let lines: LineStream
    private let decoder: any ContentDecoding

    init(_ lines: LineStream, _ decoder: any ContentDecoding) {
        self.lines = lines
        self.decoder = decoder
    }

    /// Returns an iterator over the values.
    public func makeAsyncIterator() -> Iterator { Iterator(lines.makeAsyncIterator(), decoder) }
}
