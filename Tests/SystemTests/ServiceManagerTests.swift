import Glibc
import NetproxySystem
import Testing

/// Tests of the variables that systemd sets in the environment.
@Suite struct ServiceManagerTests {
    @Test func `sockets are inherited only by the process that LISTEN_PID names`() {
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
    func `the watchdog interval applies only to the process that WATCHDOG_PID names`(
        interval: String,
        seconds: Int?
    ) {
        var environment = ["WATCHDOG_USEC": interval]
        let expected = seconds.map { Duration.seconds($0) }
        #expect(ServiceManager.watchdogInterval(environment) == expected)
        environment["WATCHDOG_PID"] = "\(getpid())"
        #expect(ServiceManager.watchdogInterval(environment) == expected)
        environment["WATCHDOG_PID"] = "\(getpid() + 1)"
        #expect(ServiceManager.watchdogInterval(environment) == nil)
    }
}
