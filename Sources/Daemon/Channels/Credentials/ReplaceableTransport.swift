import NetproxySystem
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

/// A transport that is made of files, such as certificates: after a fault it looks whether they were
/// replaced, and is made again.
final class RenewedTransport: HTTPTransport {
    private let files: [String]
    private let make: @Sendable () throws -> any HTTPTransport
    private let current: ReplaceableTransport
    private let known: Mutex<[[UInt8]?]>

    /// Makes the first transport.
    ///
    /// - Parameters:
    ///   - files: the paths of what it is made of.
    ///   - make: makes it.
    /// - Throws: what `make` throws.
    init(
        of files: [String],
        make: @escaping @Sendable () throws -> any HTTPTransport
    ) throws {
        (self.files, self.make) = (files, make)
        known = Mutex(files.map { try? SecretResolver.contents($0) })
        current = ReplaceableTransport(try make())
    }

    func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        do {
            return try await current.send(request, context: &context)
        } catch {
            await OffLoop.run { self.renew() }
            throw error
        }
    }

    /// Takes files that were replaced, if they fit together; the next request is sent by them.
    private func renew() {
        let found = files.map { try? SecretResolver.contents($0) }
        guard known.withLock({ $0 }) != found else { return }
        do {
            current.replace(by: try make())
            known.withLock { $0 = found }
        } catch {
            // The certificate is there before its key, perhaps: the next fault looks again.
        }
    }
}
