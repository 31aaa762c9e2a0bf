extension StreamSocket {
    /// Whether the TLS peer has no pinned key and pins are only reported.
    package var peerLacksPin: Bool { unsafe tls?.lacksPin ?? false }

    /// The protocol chosen by the TLS peer (ALPN, RFC 7301); `nil` if it chose none.
    package var chosenProtocol: String? { unsafe tls?.chosenProtocol }

    /// Performs a client's handshake; afterward the socket reads and writes through TLS.
    ///
    /// - Parameters:
    ///   - context: the requirements on the peer.
    ///   - serverName: the name to send (SNI) and to verify.
    ///   - protocols: the offered protocols in order of preference (ALPN); empty for no offer.
    ///   - deadline: the deadline, on the loop's clock.
    /// - Throws: `.tlsCertificate`, `.tlsProtocol`, `.aborted` if the task is canceled, and the errors of
    ///   reading.
    package func startTLS(
        _ context: TLSContext,
        serverName: String,
        offering protocols: [String] = [],
        until deadline: UInt64
    ) async throws(IOError) {
        let session = try TLSSession(
            context,
            serverName: serverName,
            protocols: protocols,
            over: self
        )
        let fault = await abortingWhenCancelled {
            await IOError.thrown { () async throws(IOError) in
                try await session.handshake(self, until: deadline)
            }
        }
        if let fault { throw fault }
        unsafe tls = session
    }
}
