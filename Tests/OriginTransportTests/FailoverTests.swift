import NetproxyEventIO
import NetworkCore
import Testing

@testable import OriginTransport

/// Which errors make a channel ask its next upstream.
@Suite struct FailoverTests {
    @Test(arguments: [
        ErrorKind.dnsError, .dnsTimeout, .connectionRefused, .connectionTimeout,
        .destinationUnavailable, .tlsProtocolError,
    ])
    func `an upstream that cannot be reached is passed over`(_ kind: ErrorKind) {
        let error = NetworkError(kind, side: .upstream, retry: .safe, detail: "down")
        #expect(FailoverTransport.isOutage(error))
    }

    @Test func `an upstream with an untrusted certificate is not passed over`() {
        let error = FaultTable.error(.tlsCertificate("expired"), in: .handshake, to: "api.example")
        #expect(error.retry == .safe)
        #expect(!FailoverTransport.isOutage(error))
    }

    @Test func `an exchange that has run out of time does not go on elsewhere`() {
        #expect(!FailoverTransport.isOutage(NetworkError.overdueUnsent(after: nil)))
    }

    @Test func `what may have been sent, and what is our own lack, stays where it is`() {
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
    func `only what took too long before the request was sent may be sent again`(
        _ phase: TimeoutPhase
    ) {
        let error = NetworkError.timeout(phase, "api.example")
        let isBefore = [TimeoutPhase.resolving, .connecting, .handshake].contains(phase)
        #expect((error.retry == .safe) == isBefore)
        #expect((error.retryAfter != nil) == (phase == .queue))
        #expect(!error.detail.isEmpty)
    }
}
