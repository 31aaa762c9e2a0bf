import NetproxyBytes
import NetproxyEventIO
import NetproxyHTTPMessage
import NetworkCore

/// Requests a connection to an origin from a SOCKS5 proxy (RFC 1928), which resolves the name.
struct SOCKSHandshake {
    /// A user name and password (RFC 1929).
    struct Account: Sendable {
        let username: String
        let password: Secret
    }

    private let socket: StreamSocket
    private let deadline: UInt64
    private let account: Account?
    private let name: String
    private let setting: TimeSetting?
    private let buffer = ReadBuffer()

    init(
        over socket: StreamSocket,
        as account: Account?,
        until deadline: UInt64,
        with name: String,
        within setting: TimeSetting?
    ) {
        self.socket = socket
        self.account = account
        self.deadline = deadline
        self.name = name
        self.setting = setting
    }

    /// Makes the proxy connect; all later bytes belong to the origin.
    ///
    /// - Throws: `destination_unavailable` if the proxy refuses, and the errors of reading and writing.
    func run(to origin: Origin) async throws(NetworkError) {
        try await send(account == nil ? [5, 1, 0] : [5, 2, 0, 2])
        let method = try await receive(2)
        guard method[0] == 5 else { throw fault("does not speak SOCKS5") }
        switch (method[1], account) {
        case (0, _): break
        case (2, let account?): try await authenticate(account)
        case (0xFF, nil): throw fault("requires authentication")
        case (0xFF, _): throw fault("accepts no user name and password")
        default: throw fault("asks for a way of authentication that was not offered")
        }
        try await send([5, 1, 0] + address(of: origin) + SOCKSHandshake.bytes(origin.port))
        let reply = try await receive(4)
        guard reply[0] == 5 else { throw fault("does not speak SOCKS5") }
        guard reply[1] == 0 else {
            let reason = SOCKSHandshake.reason(reply[1])
            throw fault("does not connect to \(origin.authority): \(reason)")
        }
        // The proxy's outgoing address, and two bytes of port.
        switch reply[3] {
        case 1: _ = try await receive(4 + 2)
        case 4: _ = try await receive(16 + 2)
        case 3: _ = try await receive(Int(try await receive(1)[0]) + 2)
        default: throw fault("sent a malformed reply")
        }
        guard buffer.isEmpty else { throw fault("sent data before the request") }
    }

    private func authenticate(_ account: Account) async throws(NetworkError) {
        let (user, password) = (Array(account.username.utf8), Array(account.password.reveal().utf8))
        try await send(
            [1, UInt8(truncatingIfNeeded: user.count)] + user
                + [UInt8(truncatingIfNeeded: password.count)] + password
        )
        guard try await receive(2)[1] == 0 else {
            throw fault("rejects the user name or password")
        }
    }

    /// Returns the type and the bytes of a host.
    private func address(of origin: Origin) throws(NetworkError) -> [UInt8] {
        switch IPAddress(origin.host) {
        case .v4(let octets)?: return [1] + SOCKSHandshake.bytes(octets)
        case .v6(let bits)?: return [4] + SOCKSHandshake.bytes(bits)
        case nil:
            let name = Array(origin.host.utf8)
            guard name.count <= 255 else { throw fault("takes names of at most 255 bytes") }
            return [3, UInt8(name.count)] + name
        }
    }

    /// Returns the bytes of a number in network byte order.
    private static func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        (0..<Number.bitWidth / 8).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    private func send(_ bytes: [UInt8]) async throws(NetworkError) {
        let output = socket.loop.outputs.take()
        defer { socket.loop.outputs.give(output) }
        output.append(bytes)
        do throws(IOError) { try await socket.write(output, until: deadline) } catch {
            throw FaultTable.error(error, in: .connecting, to: name, after: setting)
        }
    }

    private func receive(_ count: Int) async throws(NetworkError) -> [UInt8] {
        do throws(IOError) {
            while buffer.count < count {
                let arrived = try await socket.read(into: buffer, until: deadline)
                if arrived == 0 { throw .closedByPeer }
            }
        } catch {
            throw FaultTable.error(error, in: .connecting, to: name, after: setting)
        }
        return buffer.take(count).array
    }

    private func fault(_ clause: String) -> NetworkError {
        NetworkError(
            .destinationUnavailable,
            side: .proxy,
            retry: .safe,
            detail: "\(name) \(clause)"
        )
    }

    /// Returns the reason for a reply code (RFC 1928 §6).
    private static func reason(_ code: UInt8) -> String {
        switch code {
        case 2: "its rules do not allow it"
        case 3: "the network is unreachable"
        case 4: "the host is unreachable"
        case 5: "the connection was refused"
        case 6: "it took too many hops"
        default: "code \(code)"
        }
    }
}
