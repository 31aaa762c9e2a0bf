import NetproxyHTTPMessage
import NetproxyRequestLog
import Testing

@testable import NetproxyPath
@_spi(Proxying) @testable import NetworkCore

/// The results from which `status` and the page derive the state of a channel.
@Suite struct ChannelOutcomeTests {
    private enum Result: Sendable {
        case success, failure, neither
    }

    private func record(
        _ code: Int?,
        _ error: ErrorKind? = nil,
        at second: Int64 = 1,
        sent credential: Credential? = nil
    ) -> ExchangeRecord {
        var record = ExchangeRecord(
            time: WallTime(seconds: second),
            requestID: "a",
            client: "127.0.0.1",
            method: "GET",
            target: "/"
        )
        record.status = code.flatMap(HTTPStatus.init(rawValue:))
        record.error = error
        record.context.sentCredential = credential
        return record
    }

    private func outcome(_ records: ExchangeRecord...) -> ChannelOutcome {
        var counters = ChannelCounters()
        for var record in records { counters.count(&record) }
        return counters.outcome
    }

    @Test(
        arguments: [
            (200, nil, .success), (304, nil, .success), (404, nil, .success), (401, nil, .neither),
            (403, nil, .neither), (429, nil, .neither), (500, nil, .failure), (503, nil, .failure),
            (502, .connectionRefused, .failure), (503, .credentialUnavailable, .failure),
            (503, .reauthorizationRequired, .failure), (403, .httpRequestDenied, .neither),
            (429, .rateLimited, .neither), (400, .httpRequestError, .neither),
            (nil, .httpResponseIncomplete, .failure),
        ] as [(Int?, ErrorKind?, Result)]
    )
    private func `a result counts as the channel's only if the channel caused it`(
        code: Int?,
        error: ErrorKind?,
        expected: Result
    ) {
        let found = outcome(record(code, error))
        #expect((found.success != nil) == (expected == .success))
        #expect((found.failure != nil) == (expected == .failure))
    }

    @Test(arguments: [401, 403])
    func `a refusal of the channel's credential is a failure of the channel`(code: Int) throws {
        let credential = try #require(Credential(.authorization, Secret("Bearer x")))
        let found = outcome(record(code, sent: credential))
        #expect(found.failure?.isRefusedCredential == true)
    }

    @Test func `a client that disconnects changes nothing`() {
        var aborted = record(nil, .httpResponseIncomplete)
        aborted.abortedBy = .client
        #expect(outcome(aborted) == ChannelOutcome())
    }

    @Test func `the last result counts until the next one, over all loops`() {
        let good = outcome(record(200, at: 1), record(502, .connectionRefused, at: 2))
        #expect(good.current != nil)
        let later = outcome(record(200, at: 3))
        #expect((good + later).current == nil)
        #expect((later + good).current == nil)
        let worst = outcome(record(500, at: 4))
        #expect((later + worst).current?.status?.rawValue == 500)
    }
}
