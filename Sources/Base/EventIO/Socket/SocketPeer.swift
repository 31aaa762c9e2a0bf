/// The other end of a connection, as logs name it.
package struct SocketPeer: Sendable {
    /// Address and port, or `unix`.
    package let address: String
    /// The process, on a unix socket.
    package let process: PeerProcess?

    /// Makes one of its parts.
    package init(address: String, process: PeerProcess?) {
        (self.address, self.process) = (address, process)
    }

    /// The id of its user, on a unix socket.
    package var userID: UInt32? { process?.userID }
}

/// The process that connected to a unix socket, as the kernel noted it then (unix(7), SO_PEERCRED).
package struct PeerProcess: Sendable, Hashable {
    /// The id of its user.
    package let userID: UInt32
    /// Its own id; `nil` if it is not visible from here, as from another container.
    package let processID: Int32?

    /// Makes one of its ids.
    package init(userID: UInt32, processID: Int32?) {
        (self.userID, self.processID) = (userID, processID)
    }
}
