/// The peer of a connection, as named in logs.
package struct SocketPeer: Sendable {
    /// The address and port, or `unix`.
    package let address: String
    /// The process at the other end of a unix socket.
    package let process: PeerProcess?

    /// Creates a peer.
    package init(address: String, process: PeerProcess?) {
        (self.address, self.process) = (address, process)
    }

    /// The user ID of the process at the other end of a unix socket.
    package var userID: UInt32? { process?.userID }
}

/// The process that connected to a unix socket, as recorded by the kernel (unix(7), SO_PEERCRED).
package struct PeerProcess: Sendable, Hashable {
    /// The user ID of the process.
    package let userID: UInt32
    /// The process ID; `nil` if it is not visible from here, as from another container.
    package let processID: Int32?

    /// Creates a process description.
    package init(userID: UInt32, processID: Int32?) {
        (self.userID, self.processID) = (userID, processID)
    }
}
