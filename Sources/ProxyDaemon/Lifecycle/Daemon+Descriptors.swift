import ProxyConfig
import System

extension Daemon {
    /// Gets as many descriptors as the process may have, and tells if that is fewer than it may need.
    func claimDescriptors() {
        let count = DescriptorLimit.claim()
        let wanted = configuration.limits.connections
        guard count < wanted else { return }
        report(
            "limits.connections is \(wanted), but the process may have \(count) connections only: "
                + DescriptorLimit.advice
        )
    }
}
