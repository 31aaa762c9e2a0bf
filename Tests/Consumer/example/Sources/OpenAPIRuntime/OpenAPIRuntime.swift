// swift-format-ignore-file
// What swift-openapi-runtime 1.x declares of a client transport, since that package may not be at hand:
// enough to compile the documentation against.
public import Foundation
public import HTTPTypes

public protocol ClientTransport: Sendable {
    func send(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String
    ) async throws -> (HTTPResponse, HTTPBody?)
}

public final class HTTPBody: Sendable, AsyncSequence {
    public typealias ByteChunk = ArraySlice<UInt8>
    public typealias Element = ByteChunk

    public enum Length: Sendable, Equatable {
        case unknown
        case known(Int64)
    }

    public let length: Length
    private let stream: AsyncThrowingStream<ByteChunk, any Error>

    public init<Bytes: AsyncSequence & Sendable>(_ sequence: Bytes, length: Length)
    where Bytes.Element == ByteChunk {
        self.length = length
        stream = AsyncThrowingStream { continuation in
            let task = Task {
                do {
                    for try await chunk in sequence { continuation.yield(chunk) }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    public func makeAsyncIterator() -> AsyncThrowingStream<ByteChunk, any Error>.AsyncIterator {
        stream.makeAsyncIterator()
    }
}
