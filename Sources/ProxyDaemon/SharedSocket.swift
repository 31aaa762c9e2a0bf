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
    /// - Throws: `IOError.system` that names the address.
    static func open(
        _ address: ListenAddress,
        _ inherited: [String: [Int32]]
    ) throws(IOError) -> [SharedSocket] {
        switch address {
        case .tcp(let endpoint):
            let host = endpoint.host == "localhost" ? "127.0.0.1" : endpoint.host
            guard let address = SocketAddress(ip: host, port: UInt16(clamping: endpoint.port))
            else { throw .system("cannot listen on \(endpoint): the host is no IP address") }
            return [SharedSocket(try ListeningSocket(address))]
        case .unix(let path):
            guard let address = SocketAddress(unixPath: path) else {
                throw .system("cannot listen on unix:\(path): the path is too long")
            }
            let socket = try ListeningSocket(address)
            socket.restrict(mode: 0o660)
            return [SharedSocket(socket)]
        case .systemd(let name):
            guard let descriptors = inherited[name], !descriptors.isEmpty else {
                throw .system("systemd passed no socket named \(name); see FileDescriptorName=")
            }
            var sockets: [SharedSocket] = []
            for descriptor in descriptors {
                sockets.append(SharedSocket(try ListeningSocket(inherited: descriptor)))
            }
            return sockets
        }
    }
}
