/// Lends connections, and takes them back.
protocol UpstreamConnectionOwner: AnyObject {
    /// Takes a connection back after a complete exchange.
    func release(_ connection: UpstreamConnection)

    /// Takes a connection back whose origin announced content that it must not send.
    func releaseAfterSilence(_ connection: UpstreamConnection)

    /// Learns that a connection closes, whatever it was doing.
    func closed(_ connection: UpstreamConnection)

    /// Learns that a connection no longer waits for an app's content.
    func uploadEnded(on connection: UpstreamConnection)

    /// Learns that a connection to this address is dead, or seems so: those that wait for work have
    /// probably died with it.
    ///
    /// A way that is gone takes all connections over it along, and each would cost the request that
    /// tries it as much time as the first one did.
    func distrust(_ address: String)
}
