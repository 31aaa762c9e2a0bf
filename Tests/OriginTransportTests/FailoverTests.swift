import NetproxyEventIO
import NetworkCore
import Testing

@testable import OriginTransport

/// Tests of the errors that make a channel use its next upstream.
@Suite struct FailoverTests {
    @Test(arguments: [
        ErrorKind.dnsError, .dnsTimeout, .connectionRefused, .connectionTimeout,
        .destinationUnavailable, .tlsProtocolError,
    ])
    func `an unreachable upstream is skipped`(_ kind: ErrorKind) {
        let error = NetworkError(kind, side: .upstream, retry: .safe, detail: "down")
        #expect(FailoverTransport.isOutage(error))
    }

    @Test func `an upstream with an untrusted certificate is not skipped`() {
        let error = FaultTable.error(.tlsCertificate("expired"), in: .handshake, to: "api.example")
        #expect(error.retry == .safe)
        #expect(!FailoverTransport.isOutage(error))
    }

    @Test func `an exchange past its deadline does not fail over`() {
        #expect(!FailoverTransport.isOutage(NetworkError.overdueUnsent(after: nil)))
    }

    @Test func `a possibly sent request and a local limit do not fail over`() {
        let sent = NetworkError(.connectionTerminated, side: .upstream, detail: "broke")
        let full = NetworkError(
            .connectionLimitReached,
            side: .proxy,
            retry: .safe,
            detail: "no descriptor"
        )
        #expect(!FailoverTransport.isOutage(sent))
        #expect(!FailoverTransport.isOutage(full))
    }

    @Test(arguments: TimeoutPhase.allCases)
    func `only timeouts before the request was sent are safe to retry`(
        _ phase: TimeoutPhase
    ) {
        let error = NetworkError.timeout(phase, "api.example")
        let isBefore = [TimeoutPhase.resolving, .connecting, .handshake].contains(phase)
        #expect((error.retry == .safe) == isBefore)
        #expect((error.retryAfter != nil) == (phase == .queue))
        #expect(!error.detail.isEmpty)
    }
}
