import EventIO

/// A port of this machine on which nobody listens.
package enum RefusingPort {
    /// Takes a port that the system chose and gives it back.
    package static func any() throws -> Int {
        guard let address = SocketAddress(ip: "127.0.0.1", port: 0) else { throw WireError.ended }
        let socket = try ListeningSocket(address)
        return Int(socket.address.port ?? 0)
    }
}
