import NetproxySystem
import NetworkCore
import Synchronization

/// A transport that can be replaced during requests; requests in progress end on the old one.
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

/// A transport created from files, such as certificates.
///
/// After an error it checks whether the files were replaced, and is then created again.
final class RenewedTransport: HTTPTransport {
    private let files: [String]
    private let make: @Sendable () throws -> any HTTPTransport
    private let current: ReplaceableTransport
    private let known: Mutex<[[UInt8]?]>

    /// Creates the first transport.
    ///
    /// - Parameters:
    ///   - files: the paths of the files that the transport uses.
    ///   - make: creates a transport from the files.
    /// - Throws: any error that `make` throws.
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

    /// Creates a transport from replaced files if they match; the next request uses it.
    private func renew() {
        let found = files.map { try? SecretResolver.contents($0) }
        guard known.withLock({ $0 }) != found else { return }
        do {
            current.replace(by: try make())
            known.withLock { $0 = found }
        } catch {
            // The certificate may have been replaced before its key; the next error checks again.
        }
    }
}
