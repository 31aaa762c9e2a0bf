import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// Logs whose file accepts no more data.
@Suite struct StuckLogStory {
    @Test func `a full pipe without a reader does not delay requests`() async throws {
        let origin = try await OriginServer.start { wire in
            while try await wire.next() != nil { try await wire.send(Raw.ok()) }
        }
        let upstream = "upstream: 'http://127.0.0.1:\(origin.port)'"
        try await DaemonHarness.run(
            channels: "orders: { \(upstream) }\nbills: { \(upstream) }"
        ) { proxy async throws in
            let path = "\(proxy.directory)/log/orders.log"
            try #require(unsafe mkfifo(path, 0o600) == 0)
            // The reader does not read, and the pipe holds 64 KiB.
            let reader = unsafe open(path, O_RDONLY | O_NONBLOCK)
            defer { close(reader) }
            let app = try await proxy.connect()
            let long = String(repeating: "x", count: 4000)
            for number in 0..<40 {
                try await app.send(Raw.get("/orders/\(number)/\(long)"))
                #expect(try await app.message().status == 200)
            }
            try await app.send(Raw.get("/bills/1"))
            #expect(try await app.message().status == 200)
            #expect(try await proxy.ask(Raw.get("/healthz")).status == 200)
            // Lines that do not fit into the pipe are counted.
            #expect(
                await eventually {
                    let metrics = try? await proxy.ask(Raw.get("/metrics")).body
                    return metrics?.contains("netproxy_log_lines_dropped_total 0\n") == false
                }
            )
            #expect(try await proxy.log("bills").count == 1)
        }
    }

    @Test func `a reload recreates a removed log directory`() async throws {
        let channels = "orders: { stub: [{ status: 204 }] }"
        try await DaemonHarness.run(channels: channels) { proxy async throws in
            #expect(try await proxy.exchange(Raw.get("/orders/1")).status == 204)
            #expect(await proxy.hasLoggedExchange("orders"))
            try FileManager.default.removeItem(atPath: "\(proxy.directory)/log")
            await proxy.reload(channels: channels)
            #expect(FileManager.default.fileExists(atPath: "\(proxy.directory)/log"))
            #expect(try await proxy.exchange(Raw.get("/orders/2")).status == 204)
            #expect(try await proxy.log("orders").map(\.facts.path) == ["/2"])
        }
    }
}
