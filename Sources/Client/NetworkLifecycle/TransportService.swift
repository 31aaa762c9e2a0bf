public import NetworkClient
public import ServiceLifecycle

/// A transport in a `ServiceGroup`.
///
/// The group shuts it down after the services that use it.
///
///     let group = ServiceGroup(
///         services: [TransportService(transport), api],
///         gracefulShutdownSignals: [.sigterm],
///         logger: logger
///     )
///
/// A group shuts down its services from the last to the first, so list the transport before the services that
/// send through it.
public struct TransportService: Service {
    private let transport: PooledTransport
    private let patience: Duration?

    /// Creates the service.
    ///
    /// - Parameters:
    ///   - transport: the transport to shut down.
    ///   - patience: the time to wait for running exchanges; `nil` waits without a limit. Default 30 s.
    public init(_ transport: PooledTransport, patience: Duration? = .seconds(30)) {
        self.transport = transport
        self.patience = patience
    }

    /// Waits for the shutdown of the group, then drains the transport.
    ///
    /// - Throws: `CancellationError` if the task is canceled first.
    public func run() async throws {
        try await gracefulShutdown()
        await transport.shutdown(within: patience)
    }
}
