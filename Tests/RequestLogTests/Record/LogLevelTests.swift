import NetproxyRequestLog
@_spi(Proxying) import NetworkCore
import Testing

@Suite struct LogLevelTests {
    @Test(
        arguments: [
            (200, .info), (101, .info), (304, .info), (400, .warning), (404, .warning),
            (499, .warning),
            (500, .error), (503, .error), (nil, .info),
        ] as [(HTTPStatus?, LogLevel)]
    )
    func `the status determines the level if nothing else happened`(
        status: HTTPStatus?,
        level: LogLevel
    ) {
        #expect(Samples.exchange(status: status).level == level)
    }

    @Test func `a refusal is a warning despite its error word`() {
        var record = Samples.exchange(status: 404)
        record.error = .noChannel
        #expect(record.level == .warning)
    }

    @Test func `a truncated response is an error despite its status`() {
        var record = Samples.exchange(status: 200)
        record.abortedBy = .proxy
        #expect(record.level == .error)
        record.abortedBy = nil
        record.error = .httpResponseIncomplete
        #expect(record.level == .error)
    }

    @Test func `a client that disconnected is a warning`() {
        var record = Samples.exchange(status: nil)
        record.error = .cancelled
        record.abortedBy = .client
        #expect(record.level == .warning)
    }

    @Test func `a retry is a warning even if it succeeded`() {
        var record = Samples.exchange(status: 200)
        record.context.retries = [.unauthorized]
        #expect(record.level == .warning)
    }

    @Test func `a replay that was not possible is a warning`() {
        var record = Samples.exchange(status: 200)
        record.context.authorization = AuthorizationFacts(kind: "oauth")
        #expect(record.level == .info)
        record.context.authorization?.notReplayed = .bodyNotReplayable
        #expect(record.level == .warning)
    }
}
