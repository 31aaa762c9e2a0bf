import Glibc
import NetproxySystem
import Testing

/// What systemd says in the environment.
@Suite struct ServiceManagerTests {
    @Test func `sockets are taken by whom they were passed to`() {
        var environment = [
            "LISTEN_FDS": "3", "LISTEN_PID": "\(getpid())", "LISTEN_FDNAMES": "main:admin:main",
        ]
        #expect(ServiceManager.inheritedSockets(environment) == ["main": [3, 5], "admin": [4]])
        environment["LISTEN_PID"] = "\(getpid() + 1)"
        #expect(ServiceManager.inheritedSockets(environment).isEmpty)
        environment["LISTEN_PID"] = nil
        #expect(ServiceManager.inheritedSockets(environment).isEmpty)
    }

    @Test(arguments: [("30000000", 30), ("0", nil), ("-1", nil), ("soon", nil)])
    func `a watchdog is told by whom it watches`(interval: String, seconds: Int?) {
        var environment = ["WATCHDOG_USEC": interval]
        let expected = seconds.map { Duration.seconds($0) }
        #expect(ServiceManager.watchdogInterval(environment) == expected)
        environment["WATCHDOG_PID"] = "\(getpid())"
        #expect(ServiceManager.watchdogInterval(environment) == expected)
        environment["WATCHDOG_PID"] = "\(getpid() + 1)"
        #expect(ServiceManager.watchdogInterval(environment) == nil)
    }
}
