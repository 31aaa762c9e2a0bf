import FoundationEssentials
import NetproxyBytes
package import NetproxyConfig
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
package import NetproxyService
import NetworkCore

/// Sends requests to a running daemon over its admin socket.
package struct AdminClient: Sendable {
    /// The daemon's response.
    package struct TextResponse: Sendable {
        /// The status code.
        package let status: Int
        /// The body.
        package let text: String

        /// The detail of an error response, or `nil` for other responses.
        package var problem: String? {
            struct Problem: Decodable { var detail: String }
            return (try? JSONDecoder().decode(Problem.self, from: Data(text.utf8)))?.detail
        }
    }

    /// The error if no daemon responds.
    package struct Unreachable: Error, CustomStringConvertible {
        /// The address and the reason.
        package let description: String
    }

    private let addresses: [AdminAddress]

    /// Creates a client for the configured addresses.
    ///
    /// Tries Unix sockets first, because the daemon permits more over them.
    package init(_ addresses: [AdminAddress]) {
        self.addresses =
            addresses.filter { $0.listenAddress.isUnix }
            + addresses.filter { !$0.listenAddress.isUnix }
    }

    /// Sends one request and reads the response.
    ///
    /// Gives up if nothing arrives for two minutes, or if the response to a GET does not begin within ten
    /// seconds.
    ///
    /// - Throws: `Unreachable`.
    package func send(_ route: AdminRoute, _ query: AdminQuery = AdminQuery()) async throws
        -> TextResponse
    {
        let held = try await hold(route, query)
        defer { held.close() }
        return held.answer
    }

    /// Sends a request whose response may last until the connection closes, and returns after its first line.
    ///
    /// - Throws: `Unreachable`.
    package func hold(
        _ route: AdminRoute,
        _ query: AdminQuery = AdminQuery()
    ) async throws -> HeldResponse {
        guard let first = addresses.first else {
            throw Unreachable(description: "the configuration says admin: off")
        }
        do {
            return try await hold(route, query, at: first)
        } catch let error as Unreachable {
            // The socket may belong to another user, or may have been removed.
            for address in addresses.dropFirst() {
                do {
                    return try await hold(route, query, at: address)
                } catch is Unreachable {}
            }
            throw error
        }
    }

    private func hold(
        _ route: AdminRoute,
        _ query: AdminQuery,
        at address: AdminAddress
    ) async throws -> HeldResponse {
        guard let endpoint = address.listenAddress.socketAddress else {
            throw Unreachable(description: "the admin address is unusable")
        }
        let loop: EventLoop
        do {
            loop = try EventLoop(index: 98)
            try loop.start()
        } catch {
            throw Unreachable(description: "the daemon cannot be asked: \(error)")
        }
        do {
            // The task runs on the loop until the response has arrived.
            return try await Task(executorPreference: loop) {
                let connection = try await AdminConnection.open(
                    route.method,
                    route.path + query.text,
                    at: endpoint,
                    on: loop
                )
                return try await HeldResponse(connection, on: loop)
            }.value
        } catch {
            loop.stop()
            let reason =
                switch error {
                case IOError.denied:
                    "\(endpoint): \(DeniedAccess.sentence(about: endpoint.unixPath ?? ""))"
                case is HTTP1Error:
                    "no daemon answers at \(endpoint): \(error); the server there is not netproxy"
                default:
                    """
                    no daemon answers at \(endpoint): \(error); is it running (netproxy run), with this \
                    configuration?
                    """
                }
            throw Unreachable(description: reason)
        }
    }
}

/// A response of the daemon whose connection stays open until `close()`.
package final class HeldResponse: Sendable {
    /// The whole response, or the first line of an endless one.
    package let answer: AdminClient.TextResponse
    private let connection: LoopBound<AdminConnection>

    init(_ connection: AdminConnection, on loop: EventLoop) async throws {
        var bytes: [UInt8] = []
        do {
            // Read the first line of an endless response, and other responses to their end.
            while let piece = try await connection.next() {
                bytes += piece
                if connection.isEndless, bytes.last == UInt8(ascii: "\n") { break }
            }
        } catch {
            connection.close()
            throw error
        }
        answer = AdminClient.TextResponse(
            status: connection.status,
            text: String(decoding: bytes, as: UTF8.self)
        )
        self.connection = LoopBound(connection, on: loop)
    }

    /// Closes the connection.
    package func close() {
        let connection = connection
        connection.loop.submit { connection.value.close() }
        connection.loop.stop()
    }
}
