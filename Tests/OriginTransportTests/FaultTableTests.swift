import EventIO
import HTTPMessage
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
}
