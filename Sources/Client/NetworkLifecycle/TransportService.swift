public import NetworkClient
public import ServiceLifecycle

/// A transport in a `ServiceGroup`: it is shut down when the group is, after the services that use it.
///
///     let group = ServiceGroup(
///         services: [TransportService(transport), api],
///         gracefulShutdownSignals: [.sigterm],
///         logger: logger
///     )
///
/// A group shuts its services down from the last to the first, so that the transport stands before those
/// that send through it.
public struct TransportService: Service {
    private let transport: PooledTransport
    private let patience: Duration?

    /// Describes the service.
    ///
    /// - Parameters:
    ///   - transport: what is shut down.
    ///   - patience: how long the end of what is under way is waited for; `nil` for as long as it
    ///     takes. Default 30 s.
    public init(_ transport: PooledTransport, patience: Duration? = .seconds(30)) {
        self.transport = transport
        self.patience = patience
    }

    /// Waits for the shutdown of the group, and drains the transport then.
    ///
    /// - Throws: `CancellationError` if the task is cancelled first.
    public func run() async throws {
        try await gracefulShutdown()
        await transport.shutdown(within: patience)
    }
}
