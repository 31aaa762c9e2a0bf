package import NetproxyChannels
package import NetproxyConfig
package import NetproxyEventIO
package import NetproxyPath
package import OriginTransport

/// What a daemon gets from the program that it runs in, and keeps until it stops.
package struct DaemonSetup: Sendable {
    /// The variables of the process: systemd's, and those that secrets are looked up in.
    package var environment: [String: String] = [:]
    /// The sockets that systemd passed.
    package var inherited = InheritedSockets(descriptors: [:])
    /// Whether and how exchanges are written to standard output.
    package var console = ConsoleStyle.off
    /// Where clients may lead that name the host themselves.
    package var destinations = DestinationPolicy.world
    /// The slowest pace of a request's content, in bytes a second; tests on busy machines accept any.
    package var bodyRate: Int? = BodyPace.slowest
    /// Makes the event loop with an index; tests keep the loops to move their clocks.
    package var makeLoop: @Sendable (_ index: Int) throws -> EventLoop = {
        try EventLoop(index: $0)
    }
    /// Gets what concerns the daemon itself.
    package let report: OperatorReport
    /// Reads the configuration again, for a reload.
    package let readConfiguration: @Sendable () -> Result<ProxyConfiguration, ConfigurationErrors>

    /// Makes a setup with defaults for everything else.
    package init(
        report: @escaping OperatorReport,
        readConfiguration:
            @escaping @Sendable () -> Result<ProxyConfiguration, ConfigurationErrors>
    ) {
        self.report = report
        self.readConfiguration = readConfiguration
    }
}
