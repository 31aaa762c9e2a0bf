import NetproxyEventIO
import NetproxyHTTPMessage
import NetworkCore
import Testing

@testable import OriginTransport

@Suite struct FaultTableTests {
    @Test func `a lack of descriptors is an error of the proxy`() {
        let error = FaultTable.error(
            .exhausted("Too many open files"),
            in: .connecting,
            to: "api.example"
        )
        #expect(error.kind == .connectionLimitReached)
        #expect(error.side == .proxy)
        #expect(error.isSafeToRetry(.post))
        #expect(error.retryAfter == 1)
        #expect(error.detail.contains("raise the limit of open files"))
    }

    @Test(arguments: [
        (TimeoutPhase.awaitingHead, NetworkError.RetrySafety.idempotentOnly),
        (.sending, .idempotentOnly), (.awaitingHead, .unsafe), (.readingBody, .unsafe),
    ])
    func `a dead connection is not reported as a timeout and keeps its retry safety`(
        phase: TimeoutPhase,
        retry: NetworkError.RetrySafety
    ) {
        let error = FaultTable.error(
            .unresponsive("Connection timed out"),
            in: phase,
            to: "api.example",
            onceSent: retry
        )
        #expect(error.kind == .connectionTerminated)
        #expect(error.side == .upstream)
        #expect(error.retry == retry)
        #expect(error.detail.contains("dead"))
    }

    @Test func `a timeout on a pooled connection is not safe to retry`() {
        let error = FaultTable.error(
            .timedOut,
            in: .awaitingHead,
            to: "api.example",
            after: TimeSetting("timeouts.response", .seconds(600)),
            onceSent: .idempotentOnly
        )
        #expect(error.kind == .httpResponseTimeout)
        #expect(error.retry == .unsafe)
    }
}
