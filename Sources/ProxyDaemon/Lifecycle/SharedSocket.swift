import EventIO
import ProxyConfig

/// A socket that is served, and whose it is.
struct ServedAddress: Sendable {
    let socket: SharedSocket
    /// As the configuration names it.
    let place: ListenPlace
    /// What the loops call it.
    let number: Int

    var channel: String? { place.channel }
}

/// An address of the configuration, and whose it is.
struct ListenPlace: Sendable, Hashable {
    let address: ListenAddress
    /// The channel of every request, if it is a channel's own listener.
    let channel: String?
}

/// A listening socket from which every loop accepts.
final class SharedSocket: Sendable {
    let socket: ListeningSocket

    init(_ socket: consuming ListeningSocket) {
        self.socket = socket
    }

    var address: SocketAddress { socket.address }

    /// Opens what an address of the configuration names.
    ///
    /// - Parameters:
    ///   - address: where.
    ///   - inherited: what systemd handed over.
    ///   - mode: who may connect to a unix socket; its owner and group, unless told otherwise.
    /// - Returns: one socket, or those that systemd has under the name.
    /// - Throws: `IOError.system` that names the address.
    static func open(
        _ address: ListenAddress,
        _ inherited: InheritedSockets,
        mode: UInt32 = 0o660
    ) throws(IOError) -> [SharedSocket] {
        switch address {
        case .tcp:
            guard let wanted = address.socketAddress else {
                throw .system("cannot listen on \(address): the host is no IP address")
            }
            return [SharedSocket(try ListeningSocket(wanted))]
        case .unix:
            guard let wanted = address.socketAddress else {
                throw .system("cannot listen on \(address): the path is too long")
            }
            return [SharedSocket(try ListeningSocket(wanted, mode: mode))]
        case .systemd(let name): return try inherited.named(name)
        }
    }
}

extension ListenAddress {
    /// What the system is asked to bind; nothing for a socket of systemd's, and for what is no
    /// address.
    var socketAddress: SocketAddress? {
        switch self {
        case .tcp(let endpoint):
            let isName = endpoint.host.lowercased() == "localhost"
            let host = isName ? "127.0.0.1" : endpoint.host
            return SocketAddress(ip: host, port: UInt16(clamping: endpoint.port))
        case .unix(let path): return SocketAddress(unixPath: path)
        case .systemd: return nil
        }
    }
}
