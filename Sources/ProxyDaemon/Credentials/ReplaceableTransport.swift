import NetworkCore
import Synchronization

/// A transport that can be replaced by another one while requests are made: those under way end on the
/// old one.
final class ReplaceableTransport: HTTPTransport {
    private let current: Mutex<any HTTPTransport>

    init(_ first: any HTTPTransport) {
        current = Mutex(first)
    }

    func replace(by other: any HTTPTransport) {
        current.withLock { $0 = other }
    }

    func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        let transport = current.withLock { $0 }
        return try await transport.send(request, context: &context)
    }
}
