import Foundation
import NetworkClient
import NetworkTesting
import Synchronization
import Testing

/// Tests of calls with completion handlers, for clients without async/await.
@Suite struct CompletionHandlerTests {
    private struct Order: Decodable, Equatable { var id: Int }

    /// A model with handlers that access state of the main actor.
    @MainActor
    private final class Model {
        var outcomes: [String] = []
        let manager: NetworkManager<PathEndpoint>

        init(_ manager: NetworkManager<PathEndpoint>) {
            self.manager = manager
        }

        func load(_ endpoint: PathEndpoint, _ path: String) -> [CallHandle] {
            [
                manager.request(endpoint, as: Order.self) { [weak self] result in
                    MainActor.preconditionIsolated()
                    self?.outcomes.append("order \((try? result.get())?.id ?? 0)")
                },
                manager.response(for: endpoint) { [weak self] result in
                    self?.outcomes.append("response \((try? result.get())?.status.rawValue ?? 0)")
                },
                manager.data(for: endpoint) { [weak self] result in
                    self?.outcomes.append("data \((try? result.get())?.count ?? 0)")
                },
                manager.upload(endpoint, .text("a")) { [weak self] result in
                    self?.outcomes.append("upload \((try? result.get())?.status.rawValue ?? 0)")
                },
                manager.download(endpoint, to: path) { [weak self] result in
                    self?.outcomes.append("download \((try? result.get())?.length ?? 0)")
                },
                manager.stream(endpoint) { [weak self] result in
                    self?.outcomes.append("stream \((try? result.get())?.status.rawValue ?? 0)")
                },
                manager.perform(
                    Request(origin: Origin(scheme: .https, host: "a.test"), target: "/o")
                ) {
                    [weak self] result in
                    self?.outcomes.append("perform \((try? result.get())?.status.rawValue ?? 0)")
                },
            ]
        }
    }

    @Test func `a completion handler is called on the actor of its caller`() async {
        let manager = NetworkManager<PathEndpoint>(
            NetworkChannel(transport: StubTransport { _ in .json(#"{"id":7}"#) })
        )
        let path = FileManager.default.temporaryDirectory
            .appending(path: "completion-\(UInt64.random(in: 0 ... .max))").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let model = await Model(manager)
        for handle in await model.load(PathEndpoint("/o", of: "https://a.test"), path) {
            await handle.finished()
        }
        let outcomes = await Set(model.outcomes)
        #expect(
            outcomes == [
                "order 7", "response 200", "data 8", "upload 200", "download 8", "stream 200",
                "perform 200",
            ]
        )
    }

    @Test func `a canceled call throws cancelled, with CancellationError as its cause`() async {
        let manager = NetworkManager<PathEndpoint>(
            NetworkChannel(transport: StubTransport { _ in .never })
        )
        let outcome = Mutex<NetworkError?>(nil)
        let handle = manager.data(for: PathEndpoint("/o", of: "https://a.test")) { result in
            if case .failure(let error) = result { outcome.withLock { $0 = error } }
        }
        handle.cancel()
        await handle.finished()
        let error = outcome.withLock { $0 }
        #expect(error?.kind == .cancelled)
        #expect(error?.underlying is CancellationError)
    }
}
