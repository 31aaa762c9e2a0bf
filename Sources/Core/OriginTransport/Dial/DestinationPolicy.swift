package import NetproxyEventIO

/// The addresses to which a name may lead.
///
/// The policy checks the address of the connection itself, so a second lookup cannot replace it.
package enum DestinationPolicy: Sendable, Hashable {
    /// Any address: the configuration names the host.
    case any
    /// Any address except link-local and metadata addresses.
    ///
    /// The configuration names the host, but its DNS must not lead to the machine's own credentials.
    case anyButLink
    /// Only addresses on the Internet: the client names the host.
    case world

    /// Whether connections to an address are permitted.
    package func admits(_ address: SocketAddress) -> Bool {
        switch self {
        case .any: true
        case .anyButLink: address.reach != .link && address.reach != .special
        case .world: address.reach == .world
        }
    }
}
