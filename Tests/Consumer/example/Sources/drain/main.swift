import Foundation
import Logging
import NetworkClient
import NetworkLifecycle
import ServiceLifecycle

// A server program with a call in flight at SIGTERM: the call gets its response, and the program exits 0. The URL of
// a slow server is the only argument.

/// Makes one call, which ends after the shutdown of the group has begun.
struct Worker: Service {
    let manager: NetworkManager<PathEndpoint>
    let url: String

    func run() async throws {
        let response = try await withGracefulShutdownHandler {
            try await manager.perform(Request(url: url))
        } onGracefulShutdown: {
            // The server responds only now.
            FileHandle.standardOutput.write(Data("draining\n".utf8))
        }
        print("ok drain: a call in flight at SIGTERM got its \(response.status)")
    }
}

let transport = try PooledTransport()
let manager = NetworkManager<PathEndpoint>(NetworkChannel(transport: transport))
let group = ServiceGroup(
    services: [
        TransportService(transport),
        Worker(manager: manager, url: CommandLine.arguments.dropFirst().first ?? ""),
    ],
    gracefulShutdownSignals: [.sigterm],
    logger: Logger(label: "drain")
)
try await group.run()
do {
    _ = try await manager.data(for: Request(url: "http://127.0.0.1:1/"))
} catch {
    let isRefused = error.kind == .httpRequestDenied
    print(isRefused ? "ok drain: a later call is refused" : "FAIL drain: \(error)")
}
