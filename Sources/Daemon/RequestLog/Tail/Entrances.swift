/// Where apps reach netproxy: what a command needs that sends a logged request once more.
package struct Entrances: Sendable, Codable {
    /// The way to a channel.
    package struct Entrance: Sendable, Codable {
        /// `127.0.0.1:8080`; `nil` without a TCP listener.
        package var address: String?
        /// The path of a unix socket.
        package var socket: String?
        /// The prefix of paths that lead to the channel; `nil` with its own listener.
        package var prefix: String?
        /// A host that leads to the channel.
        package var host: String?
        /// The base path of the upstream.
        package var basePath = "/"
        /// Whether apps must present a key.
        package var demandsKey = false

        /// Makes the way to shared listeners.
        package init(address: String? = nil, socket: String? = nil) {
            (self.address, self.socket) = (address, socket)
        }
    }

    /// By the names of the channels.
    let channels: [String: Entrance]
    /// The way to the shared listeners.
    let shared: Entrance

    /// Makes the entrances of a configuration.
    package init(channels: [String: Entrance] = [:], shared: Entrance = Entrance()) {
        (self.channels, self.shared) = (channels, shared)
    }
}
