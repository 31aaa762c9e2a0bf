import NetproxyBytes
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
public import NetworkCore

/// Another proxy on the way to origins, such as a company proxy; it uses plain HTTP or SOCKS5.
///
/// A SOCKS5 proxy sees the names of all origins, and the content of requests to `http` origins. An HTTP proxy
/// tunnels requests to an `https` origin and sees only the origin's name. It can read requests to an `http`
/// origin, including credentials. The proxy resolves the origins' names.
public struct ParentProxy: Sendable {
    /// The proxy's name or address.
    public let host: String
    /// The proxy's port.
    public let port: UInt16
    /// The value of `Proxy-Authorization`.
    private let authorization: Secret?
    /// Whether the proxy speaks SOCKS5 rather than HTTP.
    let isSOCKS: Bool
    private let account: SOCKSHandshake.Account?

    /// A proxy without authentication.
    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
        isSOCKS = false
        account = nil
        authorization = nil
    }

    private init(socks host: String, port: UInt16, as account: SOCKSHandshake.Account?) {
        self.host = host
        self.port = port
        self.account = account
        isSOCKS = true
        authorization = nil
    }

    /// A SOCKS5 proxy (RFC 1928), which resolves the origins' names.
    ///
    /// - Parameters:
    ///   - host: the proxy's name or address.
    ///   - port: the proxy's port.
    ///   - username: the user name (RFC 1929), at most 255 bytes; `nil` for no account.
    ///   - password: the password, at most 255 bytes.
    /// - Returns: the proxy.
    /// - Throws: `credential_unavailable` if the user name or the password is too long.
    public static func socks5(
        host: String,
        port: UInt16 = 1080,
        username: String? = nil,
        password: Secret? = nil
    ) throws(NetworkError) -> ParentProxy {
        guard let username else { return ParentProxy(socks: host, port: port, as: nil) }
        let password = password ?? Secret("")
        guard (1...255).contains(username.utf8.count), password.reveal().utf8.count <= 255 else {
            throw NetworkError(
                .credentialUnavailable,
                side: .proxy,
                detail: "SOCKS5 takes user names and passwords of at most 255 bytes"
            )
        }
        let account = SOCKSHandshake.Account(username: username, password: password)
        return ParentProxy(socks: host, port: port, as: account)
    }

    /// A proxy that requires a user name and password (`Basic`, RFC 7617).
    ///
    /// - Throws: `credential_unavailable` if the name contains a colon, or either text contains a control
    ///   character.
    public init(
        host: String,
        port: UInt16,
        username: String,
        password: Secret
    ) throws(NetworkError) {
        self.host = host
        self.port = port
        isSOCKS = false
        account = nil
        authorization = try StaticAuthorizer.basic(username: username, password: password)
            .credential(until: nil).value
    }

    var name: String { "the proxy \(host):\(port)" }

    /// Adds the proxy's credential to the fields of one connection.
    func authorize(_ hopFields: inout HTTPHeaders) {
        guard let authorization else { return }
        hopFields.append(.proxyAuthorization, validated: authorization.reveal())
    }

    /// Returns the error for a 407, which only the next proxy may send (RFC 9110 §11.7.1).
    ///
    /// The proxy has not acted on the request, and the missing credential is our own fault. `headers` are the
    /// fields of the 407, which list the accepted schemes.
    func refusal(_ headers: HTTPHeaders) -> NetworkError {
        let schemes = ParentProxy.schemes(in: headers)
        let detail =
            if !schemes.isEmpty, !schemes.contains(where: { $0.lowercased() == "basic" }) {
                "\(name) accepts \(schemes.joined(separator: ", ")) only, and netproxy has Basic; "
                    + "run a program that can, such as cntlm or px, and name that as the proxy"
            } else if authorization == nil {
                "\(name) requires authentication"
            } else {
                "\(name) rejects the user name or password"
            }
        return NetworkError(
            .destinationUnavailable,
            side: .proxy,
            retry: .safe,
            detail: detail
        )
    }

    /// Returns the schemes of `Proxy-Authenticate` (RFC 9110 §11.7.1), at most four, as the proxy writes
    /// them.
    private static func schemes(in headers: HTTPHeaders) -> [String] {
        var schemes: [String] = []
        for line in headers.values(of: .proxyAuthenticate) {
            // A parameter contains `=`, and text after a comma in a quoted string does not look like a lone
            // scheme.
            for part in line.split(separator: ",") {
                let words = part.split(separator: " ", omittingEmptySubsequences: true)
                guard let first = words.first, Grammar.isToken(String(first)),
                    !schemes.contains(String(first))
                else { continue }
                schemes.append(String(first.prefix(32)))
            }
        }
        return Array(schemes.prefix(4))
    }

    /// Opens a tunnel through the proxy by SOCKS5, or by CONNECT (RFC 9110 §9.3.6).
    ///
    /// TLS with the origin then begins inside the tunnel.
    ///
    /// - Throws: `destination_unavailable` if the proxy refuses, and the errors of reading and writing.
    func openTunnel(
        over socket: StreamSocket,
        to origin: Origin,
        until deadline: UInt64,
        within setting: TimeSetting?
    ) async throws(NetworkError) {
        let fault = await socket.abortingWhenCancelled { () -> NetworkError? in
            do throws(NetworkError) {
                if isSOCKS {
                    let handshake = SOCKSHandshake(
                        over: socket,
                        as: account,
                        until: deadline,
                        with: name,
                        within: setting
                    )
                    try await handshake.run(to: origin)
                } else {
                    try await askForTunnel(
                        over: socket,
                        to: origin,
                        until: deadline,
                        within: setting
                    )
                }
                return nil
            } catch {
                return error
            }
        }
        if let fault { throw fault }
    }

    private func askForTunnel(
        over socket: StreamSocket,
        to origin: Origin,
        until deadline: UInt64,
        within setting: TimeSetting?
    ) async throws(NetworkError) {
        let head: ResponseHead
        do throws(IOError) {
            head = try await connect(over: socket, to: origin, until: deadline)
        } catch {
            throw FaultTable.error(error, in: .connecting, to: name, after: setting)
        }
        let status = head.status
        if status == 407 { throw refusal(head.headers) }
        guard status.kind == .successful else {
            throw NetworkError(
                .destinationUnavailable,
                side: .upstream,
                retry: .safe,
                detail: "\(name) refuses a tunnel to \(origin.authority) with \(status)"
            )
        }
    }

    /// Sends the CONNECT request, and reads the proxy's response.
    private func connect(
        over socket: StreamSocket,
        to origin: Origin,
        until deadline: UInt64
    ) async throws(IOError) -> ResponseHead {
        let authority = "\(Authority.bracketed(origin.host)):\(origin.port)"
        let loop = socket.loop
        let output = loop.outputs.take()
        defer { loop.outputs.give(output) }
        var hopFields = HTTPHeaders()
        authorize(&hopFields)
        HeadEncoder.encodeRequest(
            method: .connect,
            target: authority,
            host: authority,
            headers: HTTPHeaders(),
            framing: .none,
            hopFields: hopFields,
            into: output
        )
        try await socket.write(output, until: deadline)
        let buffer = ReadBuffer()
        var reader = ResponseReader(limits: .responses)
        var head: ResponseHead
        do {
            repeat {
                head = try await reader.readHead(
                    from: socket,
                    into: buffer,
                    answering: .connect,
                    until: deadline
                )
            } while head.status.kind == .informational
        } catch let error as IOError {
            throw error
        } catch {
            let reason = (error as? HTTP1Error)?.reason ?? "it cannot be read"
            throw .system("\(name) sent a malformed response: \(reason)")
        }
        // The server never speaks first in the tunnel.
        guard head.status.kind != .successful || buffer.isEmpty else {
            throw .system("\(name) sent data after the CONNECT response")
        }
        return head
    }
}
