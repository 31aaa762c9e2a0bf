import InMemoryTracing
import MetricsTestKit
import NetworkClient
import NetworkLifecycle
import NetworkTesting
import ServiceLifecycleTestKit
import TestSupport
import Testing
import Tracing

@testable import NetworkMetrics
@testable import NetworkTracing

/// The products that depend on a package of the ecosystem.
@Suite struct NetworkProductsTests {
    private func manager(
        _ stub: StubTransport,
        _ change: (inout NetworkChannel) -> Void
    ) -> NetworkManager<PathEndpoint> {
        var channel = NetworkChannel(transport: stub)
        change(&channel)
        return NetworkManager(channel)
    }

    @Test func `a group's shutdown drains its transport`() async throws {
        let origin = try await OriginServer.start { _ in Raw.ok("done") }
        let transport = try PooledTransport()
        let manager = NetworkManager<PathEndpoint>(NetworkChannel(transport: transport))
        let request = try Request(url: "http://127.0.0.1:\(origin.port)/")
        #expect(try await manager.perform(request).text == "done")
        try await testGracefulShutdown { trigger in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await TransportService(transport).run() }
                trigger.triggerGracefulShutdown()
                try await group.waitForAll()
            }
        }
        let error = await #expect(throws: NetworkError.self) { try await manager.perform(request) }
        #expect(error?.detail.contains("was shut down") == true)
    }

    @Test func `calls are timed and counted`() async throws {
        let metrics = TestMetrics()
        let stub = StubTransport { $0.path == "/a" ? .json("[1]") : .status(404) }
        let manager = manager(stub) { $0.onEvent = NetworkMetrics(metrics).record }
        _ = try await manager.perform(Request(url: "https://api.test/a"))
        _ = try? await manager.perform(Request(url: "https://api.test/b"))
        let place = [("method", "GET"), ("host", "api.test")]
        let duration = "http.client.request.duration"
        #expect(try metrics.expectTimer(duration, place + [("status", "200")]).values.count == 1)
        #expect(
            try metrics.expectTimer(duration, place + [("error", "unacceptable_response")])
                .values.count == 1
        )
        let size = try metrics.expectRecorder("http.client.response.body.size", place)
        #expect(size.values == [3])
    }

    @Test func `a call is a span whose context is sent with the request`() async throws {
        let tracer = InMemoryTracer()
        InstrumentationSystem.bootstrap(tracer)
        let stub = StubTransport { $0.path == "/a" ? .json("[1]") : .status(503) }
        let manager = manager(stub) {
            $0.interceptors = [TracingInterceptor()]
            $0.retry = nil
        }
        _ = try await manager.perform(Request(url: "https://api.test/a?token=c4nary"))
        _ = try? await manager.perform(Request(.post, url: "https://api.test:8443/b"))
        let spans = tracer.finishedSpans
        #expect(spans.map(\.operationName) == ["GET", "POST"])
        #expect(spans.first?.attributes.get("url.full") == "https://api.test/a")
        #expect(spans.first?.attributes.get("http.response.status_code") == 200)
        #expect(spans.last?.attributes.get("server.port") == 8443)
        #expect(spans.last?.attributes.get("error.type") == "503")
        #expect(tracer.performedContextInjections.count == 2)
    }
}
