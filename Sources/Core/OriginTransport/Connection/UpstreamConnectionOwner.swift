/// An owner that lends connections and takes them back.
protocol UpstreamConnectionOwner: AnyObject {
    /// Takes a connection back after a complete exchange.
    func release(_ connection: UpstreamConnection)

    /// Takes a connection back whose origin announced content that it must not send.
    func releaseAfterSilence(_ connection: UpstreamConnection)

    /// Handles the close of a connection in any state.
    func closed(_ connection: UpstreamConnection)

    /// Handles a connection that no longer waits for the client's content.
    func uploadEnded(on connection: UpstreamConnection)

    /// Handles a connection to this address that is dead or appears to be.
    ///
    /// Idle connections to the address have probably failed with it: a failed network path breaks all
    /// connections over it. Without this, each of them would cost one request as much time as the first.
    func distrust(_ address: String)
}
