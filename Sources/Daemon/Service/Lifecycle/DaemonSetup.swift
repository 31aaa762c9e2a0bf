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
    /// Makes the event loop with an index; tests keep the loops to move their clocks.
    package var makeLoop: @Sendable (_ index: Int) throws -> EventLoop = {
        try EventLoop(index: $0)
    }
    /// Gets what concerns the daemon itself.
    package let report: OperatorReport
    /// Reads the configuration again, for a reload.
    package let readConfiguration: @Sendable () -> Result<ProxyConfiguration, ConfigurationErrors>
    /// Opens the admin interface at an address; `localhost` may be two sockets.
    let openAdmin:
        @Sendable (_ address: AdminAddress, _ loop: EventLoop, Daemon) async throws -> [AdminSocket]

    /// Makes a setup with defaults for everything else.
    init(
        report: @escaping OperatorReport,
        readConfiguration:
            @escaping @Sendable () -> Result<ProxyConfiguration, ConfigurationErrors>,
        openAdmin:
            @escaping @Sendable (AdminAddress, EventLoop, Daemon) async throws -> [AdminSocket]
    ) {
        self.report = report
        self.readConfiguration = readConfiguration
        self.openAdmin = openAdmin
    }
}

/// A socket of the admin interface.
struct AdminSocket: Sendable {
    /// Holds the socket: its last owner removes its file.
    let socket: SharedSocket
    /// Accepts no more, gives every reader a moment to see the end of its answer, and closes.
    let close: @Sendable () async -> Void

    var address: SocketAddress { socket.address }
}
