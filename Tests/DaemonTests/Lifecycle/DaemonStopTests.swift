import FoundationEssentials
import Glibc
import NetproxyConfig
import NetproxyService
import TestSupport
import Testing

/// A daemon that stopped or failed to start leaves nothing behind.
@Suite struct DaemonStopTests {
    private func run(
        listen: String,
        _ environment: [String: String] = [:],
        _ story: (Daemon) async throws -> Void
    ) async throws {
        let directory = FileManager.default.temporaryDirectory
            .appending(path: "netproxy-stop-\(UInt64.random(in: 0 ... .max))").path()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let configuration = try ConfigurationLoader.load(
            text: """
                listen: [\(listen)]
                admin: off
                workers: 1
                state: \(directory)/state
                log: { directory: \(directory)/log }
                channels: { orders: { stub: [{ status: 204 }] } }
                """,
            file: "n.yaml",
            environment: [:]
        ).get()
        var setup = DaemonSetup(
            report: { _ in },
            readConfiguration: { .success(configuration) }
        )
        setup.environment = environment
        let daemon = Daemon(configuration, setup)
        try await story(daemon)
        await daemon.stop()
    }

    @Test func `a failed start closes everything that it opened`() async throws {
        let taken = try await OriginServer.start { try await $0.rest() }
        try await run(listen: "127.0.0.1:0, 127.0.0.1:\(taken.port)") { daemon in
            await #expect(throws: (any Error).self) {
                try await daemon.start(handlesSignals: false)
            }
            #expect(await daemon.addresses.isEmpty)
            await daemon.waitUntilStopped()
        }
    }

    @Test func `a stop does not wait for the watchdog, and wakes every waiter`() async throws {
        let watchdog = ["WATCHDOG_USEC": "3600000000", "WATCHDOG_PID": "\(getpid())"]
        try await run(listen: "127.0.0.1:0", watchdog) { daemon in
            try await daemon.start(handlesSignals: false)
            let ended = Gate()
            let waiting = Task {
                await daemon.waitUntilStopped()
                ended.open()
            }
            let stopping = Task { await daemon.stop() }
            try await ended.wait()
            await waiting.value
            await stopping.value
            #expect(await daemon.addresses.isEmpty)
            await daemon.waitUntilStopped()
        }
    }
}
