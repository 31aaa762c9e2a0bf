import NetproxyEventIO

/// Connects like a client and sends raw bytes.
package enum RawClient {
    /// Connects to a port of this machine, and sends the first bytes in the same turn of the loop.
    package static func connect(
        to port: Int,
        of ip: String = "127.0.0.1",
        sending text: String = ""
    ) async throws -> Wire {
        try await connect(SocketAddress(ip: ip, port: UInt16(port)), text)
    }

    /// Connects to a unix socket.
    package static func connect(path: String, sending text: String = "") async throws -> Wire {
        try await connect(SocketAddress(unixPath: path), text)
    }

    private static func connect(_ address: SocketAddress?, _ text: String) async throws -> Wire {
        guard let address else { throw WireError.ended }
        let loop = try TestLoop.shared()
        // In a separate task, because a socket must be connected on its loop.
        return try await Task(executorPreference: loop) {
            let socket = try await Dialer.connect(
                to: address,
                on: loop,
                until: loop.deadline(after: Wire.patience)
            )
            let stream = WireStream(socket)
            let wire = Wire(LoopBound(stream, on: loop), number: 0)
            if !text.isEmpty { try await stream.write(Array(text.utf8)) }
            return wire
        }.value
    }
}
