import NetproxyConfig
package import NetproxyEventIO
import NetproxySystem

/// A socket in service, and the channel that owns it.
struct ServedAddress: Sendable {
    let socket: SharedSocket
    /// The address in the configuration, and its owner.
    let place: ListenPlace
    /// The number that identifies the socket on the loops.
    let number: Int

    var channel: String? { place.channel }
}

/// An address in the configuration, and its owner.
struct ListenPlace: Sendable, Hashable {
    let address: ListenAddress
    /// The channel of every request, if this is a channel's own listener.
    let channel: String?
    var necessity = Necessity.required

    /// The consequence if the address cannot be bound.
    enum Necessity {
        /// It is an error.
        case required
        /// It is an error only on a machine with IPv6: this is the other half of `localhost`.
        case whereIPv6
        /// It has no effect.
        ///
        /// The address lets clients whose `localhost` is `::1` reach a listener on 127.0.0.1.
        case whereFree
    }
}

/// A listening socket from which every loop accepts.
package final class SharedSocket: Sendable {
    package let socket: ListeningSocket

    package init(_ socket: consuming ListeningSocket) {
        self.socket = socket
    }

    package var address: SocketAddress { socket.address }

    /// Opens an address in the configuration.
    ///
    /// - Parameters:
    ///   - address: the address.
    ///   - inherited: the sockets that systemd passed.
    ///   - mode: the permissions of a unix socket; by default its owner and group may connect.
    /// - Returns: one socket, or the sockets that systemd passed under the name.
    /// - Throws: `IOError.system` that names the address.
    static func open(
        _ address: ListenAddress,
        _ inherited: InheritedSockets,
        mode: UInt32 = 0o660
    ) throws(IOError) -> [SharedSocket] {
        switch address {
        case .tcp(let endpoint):
            if endpoint.host == "localhost" { return try openLoopbacks(port: endpoint.port) }
            guard let wanted = address.socketAddress else {
                throw .system("cannot listen on \(address): the host is not an IP address")
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

    /// Opens 127.0.0.1 and, if the machine has it, ::1 with the same port.
    private static func openLoopbacks(port: Int) throws(IOError) -> [SharedSocket] {
        guard let wanted = SocketAddress(ip: "127.0.0.1", port: UInt16(clamping: port)) else {
            return []
        }
        let first = SharedSocket(try ListeningSocket(wanted))
        guard let chosen = first.address.port,
            let second = SocketAddress(ip: "::1", port: chosen)
        else { return [first] }
        do throws(IOError) {
            return [first, SharedSocket(try ListeningSocket(second))]
        } catch {
            // The machine has no IPv6, or the chosen port is in use on ::1.
            return [first]
        }
    }

    /// Whether the machine has ::1.
    static var hasIPv6: Bool {
        guard let loopback = SocketAddress(ip: "::1", port: 0) else { return false }
        do throws(IOError) {
            _ = try ListeningSocket(loopback)
            return true
        } catch {
            return false
        }
    }
}

extension ListenAddress {
    /// The address to bind; `nil` for a socket from systemd, and for a host that is not an address.
    package var socketAddress: SocketAddress? {
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

/// The sockets that systemd passed; each has one owner until the process ends.
///
/// A reload without the socket leaves it open, so that a later reload can use it again. systemd passes
/// descriptors only at the start; the number of a closed one may belong to a log file later.
package struct InheritedSockets: Sendable {
    private let sockets: [String: [Result<SharedSocket, IOError>]]

    /// Takes over the sockets named by the environment (sd_listen_fds_with_names(3)); call it once per
    /// process.
    package init(_ environment: [String: String]) {
        self.init(descriptors: ServiceManager.inheritedSockets(environment))
    }

    /// Takes over descriptors by name; nothing else may close them from now on.
    package init(descriptors: [String: [Int32]]) {
        sockets = descriptors.mapValues { $0.map(InheritedSockets.take) }
    }

    private static func take(_ descriptor: Int32) -> Result<SharedSocket, IOError> {
        do throws(IOError) {
            return .success(SharedSocket(try ListeningSocket(inherited: descriptor)))
        } catch {
            return .failure(error)
        }
    }

    /// Returns the sockets with a name.
    ///
    /// - Throws: `IOError.system` if there are none, or if one of them is not a listening socket.
    func named(_ name: String) throws(IOError) -> [SharedSocket] {
        guard let results = sockets[name], !results.isEmpty else {
            throw .system("systemd passed no socket named \(name); see FileDescriptorName=")
        }
        var found: [SharedSocket] = []
        for result in results {
            do throws(IOError) {
                found.append(try result.get())
            } catch {
                throw .system("cannot listen on systemd:\(name): \(error)")
            }
        }
        return found
    }
}
