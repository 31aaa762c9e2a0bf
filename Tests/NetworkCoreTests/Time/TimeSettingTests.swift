import NetworkCore
import Testing

/// Tests of the messages of timeout errors.
@Suite struct TimeSettingTests {
    @Test(arguments: [
        (Duration.milliseconds(250), "250ms"), (.milliseconds(1500), "1500ms"), (.seconds(1), "1s"),
        (.seconds(60), "60s"), (.seconds(90), "90s"), (.seconds(600), "10m"),
        (.seconds(3600), "1h"),
        (.seconds(5400), "90m"), (.seconds(3601), "3601s"),
    ])
    func `a duration is written as in a configuration`(duration: Duration, text: String) {
        #expect(duration.written == text)
    }

    @Test(arguments: TimeoutPhase.allCases)
    func `every timeout error names the setting, its value and the peer that gave up`(
        phase: TimeoutPhase
    ) {
        let setting = TimeSetting("a.key", .seconds(7))
        let error = NetworkError.timeout(phase, "api.example", after: setting)
        #expect(error.detail.hasPrefix("netproxy gave up after a.key (7s): "))
    }

    @Test func `the error of a library client names its own option`() {
        let setting = TimeSettings.options.setting("timeouts.idle", "idleTimeout", .seconds(5))
        let error = NetworkError.timeout(.readingBody, "api.example", after: setting)
        #expect(
            error.detail == "this client gave up after UpstreamOptions.idleTimeout (5s): "
                + "api.example stopped in the middle of its response"
        )
    }

    @Test func `the error of a limit without a key names its owner`() {
        let setting = TimeSettings.fixed("tunnels").setting("timeouts.idle", "idleTimeout", nil)
        let error = NetworkError.timeout(.tunnel, after: setting)
        #expect(
            error.detail
                == "netproxy gave up after its own limit for tunnels: nothing moved in the tunnel"
        )
    }
}
