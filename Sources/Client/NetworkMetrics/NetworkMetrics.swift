import Metrics
public import NetworkClient

/// Counts and times the calls of channels (swift-metrics).
///
///     channel.onEvent = NetworkMetrics().record
///
/// - `http.client.request.duration`: a timer of calls with the dimensions `method`, `host`, and `status` or
///   `error`. A call ends with its content; for streams and downloads, with the head.
/// - `http.client.request.resends`: a counter of attempts after the first, by `method` and `host`.
/// - `http.client.response.body.size` and `http.client.request.body.size`: recorders of bytes, if the size is
///   known.
public struct NetworkMetrics: Sendable {
    private let factory: any MetricsFactory

    /// Creates the hook, which uses the bootstrapped metrics system of the program.
    public init() {
        self.init(MetricsSystem.factory)
    }

    init(_ factory: any MetricsFactory) {
        self.factory = factory
    }

    /// Records an event.
    public func record(_ event: NetworkEvent) {
        let exchange = event.exchange
        let place = [
            ("method", exchange.request.method.rawValue), ("host", exchange.request.origin.host),
        ]
        switch event {
        case .received:
            let status = exchange.status.map { "\($0.rawValue)" } ?? ""
            recordCall(exchange, place + [("status", status)])
            recordSize("response", exchange.contentLength, place)
        case .failed(_, let error):
            recordCall(exchange, place + [("error", error.kind.rawValue)])
        case .ended: recordSize("response", exchange.contentLength, place)
        default: break
        }
    }

    private func recordCall(_ exchange: NetworkExchange, _ dimensions: [(String, String)]) {
        let timer = Timer(
            label: "http.client.request.duration",
            dimensions: dimensions,
            factory: factory
        )
        timer.record(duration: exchange.duration)
        recordSize("request", exchange.sentLength, Array(dimensions.prefix(2)))
        let resends = exchange.context.attempts - 1
        guard resends > 0 else { return }
        Counter(
            label: "http.client.request.resends",
            dimensions: Array(dimensions.prefix(2)),
            factory: factory
        ).increment(by: resends)
    }

    private func recordSize(_ message: String, _ count: Int?, _ place: [(String, String)]) {
        guard let count, count > 0 else { return }
        Recorder(
            label: "http.client.\(message).body.size",
            dimensions: place,
            aggregate: true,
            factory: factory
        ).record(count)
    }
}
