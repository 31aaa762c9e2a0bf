import NetproxyConfig
import NetproxyEventIO
import NetproxyHTTPMessage
import NetproxyService
import NetworkCore
import Synchronization

/// Waits on a loopback port for the browser to return from a sign-in (RFC 8252 §7.3).
///
/// The port is open during one sign-in. It accepts only its own address as `Host`, which defeats DNS
/// rebinding by a web page.
final class LoopbackRedirect: Sendable {
    /// The result of checking a request to the redirect URI.
    enum Verdict: Sendable {
        case ending(SignInPage.Ending)
        /// The request does not belong to the sign-in, for this reason.
        case stray(String)
    }

    /// Checks the query of a request to the redirect URI.
    typealias Judge = @Sendable (_ query: String) async -> Verdict

    /// The redirect URI for the authorization request.
    let uri: String
    private let servers: LoopBound<[LocalServer]>

    /// Opens the port.
    ///
    /// - Parameters:
    ///   - registered: the redirect URI registered with the server.
    ///   - page: shows the outcome.
    ///   - loop: serves the requests.
    ///   - judge: checks each query that arrives.
    ///   - onShown: called after the browser has received the last page.
    /// - Throws: `IOError` if the port is in use.
    init(
        _ registered: RedirectURI,
        showing page: SignInPage,
        on loop: EventLoop,
        judge: @escaping Judge,
        onShown: @escaping @Sendable () -> Void
    ) async throws {
        let sockets = try Self.sockets(for: registered)
        let port = sockets[0].address.port ?? 0
        uri = registered.text(port: port)
        let origin = Origin(scheme: .http, host: registered.host, port: port)
        let path = registered.path.isEmpty ? "/" : registered.path
        let servers = await loop.call { loop in
            Result<[LocalServer], any Error> {
                var servers: [LocalServer] = []
                do {
                    for socket in sockets {
                        let server = try LocalServer(socket.socket, on: loop) { call in
                            await Self.answer(call, at: origin, path, page, judge)
                        } onAnswered: { response in
                            if response.status == 200 || response.status == 502 { onShown() }
                        }
                        servers.append(server)
                    }
                } catch {
                    for server in servers { server.close() }
                    throw error
                }
                return servers
            }
        }
        self.servers = try await servers.unwrapped()
    }

    /// Returns one socket, or for `localhost` one each for IPv4 and IPv6 with the same port.
    ///
    /// A browser may choose either, and no other program may listen on the other one.
    private static func sockets(for registered: RedirectURI) throws(IOError) -> [SharedSocket] {
        guard registered.host == "localhost" else {
            return [try socket(registered.host, registered.port ?? 0)]
        }
        var failure = IOError.timedOut
        for _ in 0..<8 {
            let first = try socket("127.0.0.1", registered.port ?? 0)
            do throws(IOError) {
                return [first, try socket("::1", first.address.port ?? 0)]
            } catch {
                guard hasIPv6 else { return [first] }
                failure = error
            }
            if registered.port != nil { break }
        }
        throw failure
    }

    /// Returns a URI with a port that is currently free: its own port, if it has one.
    ///
    /// - Throws: `IOError` if that port is in use.
    static func freeURI(for registered: RedirectURI) throws(IOError) -> String {
        registered.text(port: try sockets(for: registered)[0].address.port ?? 0)
    }

    /// Whether the port of a URI is currently free.
    static func isFree(_ registered: RedirectURI) -> Bool {
        do throws(IOError) {
            _ = try sockets(for: registered)
            return true
        } catch {
            return false
        }
    }

    private static var hasIPv6: Bool {
        do throws(IOError) {
            _ = try socket("::1", 0)
            return true
        } catch {
            return false
        }
    }

    private static func socket(_ ip: String, _ port: UInt16) throws(IOError) -> SharedSocket {
        guard let address = SocketAddress(ip: ip, port: port) else {
            throw .system("\(ip) is not an address")
        }
        return SharedSocket(try ListeningSocket(address))
    }

    /// Closes the port.
    func close() async {
        await servers.call { for server in $0 { server.close() } }
    }

    private static func answer(
        _ call: LocalServer.Call,
        at origin: Origin,
        _ path: String,
        _ page: SignInPage,
        _ judge: Judge
    ) async -> Response {
        guard let host = call.host,
            Origin(scheme: .http, host: host.host, port: host.port) == origin
        else {
            return page.stray(421, "This is not the address that netproxy listens on.")
        }
        guard call.method == .get, call.path == path else {
            return page.stray(404, "There is no such page here.")
        }
        switch await judge(call.query ?? "") {
        case .ending(let ending): return page.response(ending)
        case .stray(let words):
            return page.stray(400, "This request does not belong to the current sign-in: \(words).")
        }
    }
}
