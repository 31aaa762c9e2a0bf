package import NetproxyEventIO

/// The addresses that may be dialled for a name.
///
/// The policy judges the address of the connection itself, so that a second lookup cannot replace it.
package enum DestinationPolicy: Sendable, Hashable {
    /// Any address: the configuration names the host.
    case any
    /// Any but link-local and metadata addresses: the configuration names the host, and
    /// its DNS must not lead to the machine's own credentials.
    case anyButLink
    /// The Internet only: the app names the host.
    case world

    /// Whether a connection may go there.
    package func admits(_ address: SocketAddress) -> Bool {
        switch self {
        case .any: true
        case .anyButLink: address.reach != .link && address.reach != .special
        case .world: address.reach == .world
        }
    }
}
