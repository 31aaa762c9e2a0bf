import EventIO
import HTTPMessage
import NetworkCore
import Synchronization

/// Waits on a loopback port for the browser to come back from a sign-in (RFC 8252 §7.3).
///
/// The port is open for the time of one sign-in. It answers to its own literal address only, so that
/// no name that a web page rebinds gets through.
final class LoopbackRedirect: Sendable {
    /// What the browser is shown once it is known how the sign-in ended.
    enum Ending: Sendable {
        case signedIn
        case failed(String)
    }

    /// Judges the query of a request to the redirect; nothing if it has nothing to do with the sign-in.
    typealias Judge = @Sendable (_ query: String) async -> Ending?

    private static let path = "/callback"

    /// Where the browser is to be sent.
    let uri: String
    private let server: LoopBound<LocalServer>

    /// Opens a port of 127.0.0.1.
    ///
    /// - Parameters:
    ///   - port: the port that is registered with the server; nothing takes any free one.
    ///   - loop: serves.
    ///   - judge: sees each query that arrives.
    ///   - onShown: called when the browser has got the last page.
    /// - Throws: `IOError` if the port is taken.
    init(
        port: Int?,
        on loop: EventLoop,
        judge: @escaping Judge,
        onShown: @escaping @Sendable () -> Void
    ) async throws {
        guard let address = SocketAddress(ip: "127.0.0.1", port: UInt16(clamping: port ?? 0)) else {
            throw IOError.system("127.0.0.1 is no address")
        }
        let socket = SharedSocket(try ListeningSocket(address))
        let authority = "127.0.0.1:\(socket.address.port ?? 0)"
        uri = "http://\(authority)\(Self.path)"
        let server = await loop.call { loop in
            Result<LocalServer, any Error> {
                try LocalServer(socket.socket, on: loop) { call in
                    await Self.answer(call, authority: authority, judge)
                } onAnswered: { response in
                    if response.status == 200 || response.status == 502 { onShown() }
                }
            }
        }
        self.server = try await server.unwrapped()
    }

    /// Closes the port.
    func close() async {
        await server.call { $0.close() }
    }

    private static func answer(
        _ call: LocalServer.Call,
        authority: String,
        _ judge: Judge
    ) async -> Response {
        guard call.host?.description == authority else {
            return page(421, "This is not the address that netproxy listens on.")
        }
        guard call.method == .get, call.path == path else { return page(404, "Nothing is here.") }
        switch await judge(call.query ?? "") {
        case .signedIn: return page(200, "You are signed in. You can close this page.")
        case .failed(let words):
            return page(502, "The sign-in failed: \(words). You can close this page.")
        case nil:
            return page(400, "This does not belong to the sign-in that netproxy waits for.")
        }
    }

    /// A page without scripts, pictures or links, which tells nobody where it came from.
    private static func page(_ status: HTTPStatus, _ sentence: String) -> Response {
        let html = """
            <!DOCTYPE html>
            <html lang="en"><meta charset="utf-8"><title>netproxy</title>
            <body><p>\(HTMLText.of(sentence))</p></body></html>

            """
        var response = Response(
            status: status,
            headers: [
                .contentType: "text/html; charset=utf-8", .cacheControl: "no-store",
            ],
            body: .bytes(ByteSlice(html))
        )
        for (name, value) in [
            ("Content-Security-Policy", "default-src 'none'"),
            ("Referrer-Policy", "no-referrer"), ("X-Content-Type-Options", "nosniff"),
        ] {
            if let name = HTTPFieldName(name), let field = HTTPField(name, value) {
                response.headers.append(field)
            }
        }
        return response
    }
}
