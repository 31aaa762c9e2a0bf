/// The addresses at which clients reach netproxy, for a command that repeats a logged request.
package struct Entrances: Sendable, Codable {
    /// The address of a channel.
    package struct Entrance: Sendable, Codable {
        /// The TCP address, such as `127.0.0.1:8080`; `nil` without a TCP listener.
        package var address: String?
        /// The path of a Unix socket.
        package var socket: String?
        /// The prefix of the channel's paths; `nil` if the channel has its own listener.
        package var prefix: String?
        /// A host name of the channel.
        package var host: String?
        /// The base path of the upstream.
        package var basePath = "/"
        /// Whether clients must present a key.
        package var demandsKey = false

        /// Makes the address of shared listeners.
        package init(address: String? = nil, socket: String? = nil) {
            (self.address, self.socket) = (address, socket)
        }
    }

    /// The addresses by channel name.
    let channels: [String: Entrance]
    /// The address of the shared listeners.
    let shared: Entrance

    /// Makes the addresses of a configuration.
    package init(channels: [String: Entrance] = [:], shared: Entrance = Entrance()) {
        (self.channels, self.shared) = (channels, shared)
    }

    /// Returns the URL at which clients reach a channel over TCP, such as `http://127.0.0.1:8080/orders`.
    ///
    /// The result is `nil` if the channel is unknown or has no TCP listener.
    package func url(of channel: String) -> String? {
        guard let entrance = channels[channel], let address = entrance.address else { return nil }
        return "http://\(address)\(entrance.prefix ?? "")"
    }
}
