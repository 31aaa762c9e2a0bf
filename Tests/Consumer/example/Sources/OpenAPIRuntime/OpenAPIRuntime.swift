// swift-format-ignore-file
// What the documentation of generated clients needs of swift-openapi-runtime, since that package may not be
// at hand: declarations with the signatures of version 1.9.0.
public import FoundationEssentials
public import HTTPTypes
import Synchronization

public protocol ClientTransport: Sendable {
    func send(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?)
}

public protocol ClientMiddleware: Sendable {
    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String,
        next: @Sendable (HTTPRequest, HTTPBody?, URL) async throws -> (HTTPResponse, HTTPBody?)
    ) async throws -> (HTTPResponse, HTTPBody?)
}

public enum IterationBehavior: Sendable {
    case single
    case multiple
}

public final class HTTPBody: @unchecked Sendable {
    public typealias ByteChunk = ArraySlice<UInt8>

    public enum Length: Sendable, Equatable {
        case unknown
        case known(Int64)
    }

    public let iterationBehavior: IterationBehavior
    public let length: Length
    private let makeIterator: @Sendable () -> Iterator
    private let iterators = Atomic(0)

    public init<Bytes: AsyncSequence>(
        _ sequence: Bytes,
        length: HTTPBody.Length,
        iterationBehavior: IterationBehavior
    ) where Bytes.Element == ByteChunk, Bytes: Sendable {
        self.length = length
        self.iterationBehavior = iterationBehavior
        makeIterator = { Iterator(sequence.makeAsyncIterator()) }
    }

    public convenience init(_ bytes: [UInt8]) {
        self.init(
            AsyncChunks(chunks: [bytes[...]]),
            length: .known(Int64(bytes.count)),
            iterationBehavior: .multiple
        )
    }

    public convenience init(
        _ stream: AsyncStream<ByteChunk>,
        length: HTTPBody.Length
    ) {
        self.init(stream, length: length, iterationBehavior: .single)
    }
}

/// The chunks of a body in memory.
private struct AsyncChunks: AsyncSequence, Sendable {
    struct Iterator: AsyncIteratorProtocol {
        var rest: ArraySlice<HTTPBody.ByteChunk>
        mutating func next() async -> HTTPBody.ByteChunk? { rest.popFirst() }
    }

    let chunks: [HTTPBody.ByteChunk]
    func makeAsyncIterator() -> Iterator { Iterator(rest: chunks[...]) }
}

extension HTTPBody: AsyncSequence {
    public typealias Element = ByteChunk
    public typealias AsyncIterator = Iterator

    public func makeAsyncIterator() -> Iterator {
        let earlier = iterators.add(1, ordering: .relaxed).oldValue
        guard iterationBehavior == .multiple || earlier == 0 else {
            return Iterator(throwing: TooManyIterationsError())
        }
        return makeIterator()
    }

    public struct Iterator: AsyncIteratorProtocol {
        private let produceNext: () async throws -> ByteChunk?

        init<Source: AsyncIteratorProtocol>(_ iterator: Source) where Source.Element == ByteChunk {
            var iterator = iterator
            produceNext = { try await iterator.next() }
        }

        init(throwing error: any Error) { produceNext = { throw error } }

        public mutating func next() async throws -> ByteChunk? { try await produceNext() }
    }

    private struct TooManyIterationsError: Error {}
}

extension Array where Element == UInt8 {
    public init(collecting body: HTTPBody, upTo maxBytes: Int) async throws {
        self = []
        for try await chunk in body { append(contentsOf: chunk) }
    }
}
