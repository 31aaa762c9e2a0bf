import NetproxyEventIO
import NetproxyHTTPMessage
import NetworkCore
import Testing

@testable import OriginTransport

@Suite struct FaultTableTests {
    @Test func `a process without free descriptors does not blame the upstream`() {
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
        (TimeoutPhase.awaitingHead, true, NetworkError.RetrySafety.idempotentOnly),
        (.sending, true, .idempotentOnly), (.awaitingHead, false, .unsafe),
        (.readingBody, false, .unsafe),
    ])
    func `a dead connection is no timeout, and may be repeated if it was pooled`(
        phase: TimeoutPhase,
        isPooled: Bool,
        retry: NetworkError.RetrySafety
    ) {
        let error = FaultTable.error(
            .unresponsive("Connection timed out"),
            in: phase,
            to: "api.example",
            mayBeStale: isPooled
        )
        #expect(error.kind == .connectionTerminated)
        #expect(error.side == .upstream)
        #expect(error.retry == retry)
        #expect(error.detail.contains("dead"))
    }

    @Test func `a pooled connection whose server takes its time is not repeated`() {
        let error = FaultTable.error(
            .timedOut,
            in: .awaitingHead,
            to: "api.example",
            after: TimeSetting("timeouts.response", .seconds(600)),
            mayBeStale: true
        )
        #expect(error.kind == .httpResponseTimeout)
        #expect(error.retry == .unsafe)
    }
}
