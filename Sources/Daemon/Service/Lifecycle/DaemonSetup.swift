package import NetproxyChannels
package import NetproxyConfig
package import NetproxyEventIO
package import NetproxyPath
package import OriginTransport

/// The settings of a daemon that its program provides; they stay the same until it stops.
package struct DaemonSetup: Sendable {
    /// The environment variables of the process, including those of systemd and of secrets.
    package var environment: [String: String] = [:]
    /// The sockets that systemd passed.
    package var inherited = InheritedSockets(descriptors: [:])
    /// Whether exchanges are written to standard output, and in which style.
    package var console = ConsoleStyle.off
    /// The permitted destinations for clients that choose the host themselves.
    package var destinations = DestinationPolicy.world
    /// The slowest rate of a request's content, in bytes per second; tests on busy machines accept any.
    package var bodyRate: Int? = BodyPace.slowest
    /// Creates the event loop with an index; tests keep the loops to move their clocks.
    package var makeLoop: @Sendable (_ index: Int) throws -> EventLoop = {
        try EventLoop(index: $0)
    }
    /// Receives the reports about the daemon itself.
    package let report: OperatorReport
    /// Reads the configuration again, for a reload.
    package let readConfiguration: @Sendable () -> Result<ProxyConfiguration, ConfigurationErrors>

    /// Creates a setup with defaults for all other settings.
    package init(
        report: @escaping OperatorReport,
        readConfiguration:
            @escaping @Sendable () -> Result<ProxyConfiguration, ConfigurationErrors>
    ) {
        self.report = report
        self.readConfiguration = readConfiguration
    }
}
