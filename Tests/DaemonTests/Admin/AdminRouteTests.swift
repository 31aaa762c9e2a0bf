import Testing

@testable import NetproxyService

/// The paths of the admin socket, as written by the commands and parsed by the daemon.
@Suite struct AdminRouteTests {
    @Test(
        arguments: [
            (.page, "/"), (.health, "/healthz"), (.readiness, "/readyz"), (.metrics, "/metrics"),
            (.status, "/status"), (.tail, "/tail"), (.log, "/log"), (.archive, "/har"),
            (.why("a/b"), "/why/a%2Fb"), (.keys, "/keys"),
            (.reload, "/reload"), (.tokens(channel: "a"), "/channels/a/token"),
            (.refresh(channel: "a"), "/channels/a/token/refresh"),
            (.adopt(channel: "a"), "/channels/a/token/adopt"),
            (.revealed(channel: "a"), "/channels/a/token/revealed"),
        ] as [(AdminRoute, String)]
    )
    func `a route is parsed from its own path`(route: AdminRoute, path: String) {
        #expect(route.path == path)
        #expect(AdminRoute(path) == route)
    }

    @Test(arguments: ["/nowhere", "/status/all", "/channels/a", "/channels/a/token/other"])
    func `any other path is not a route`(path: String) {
        #expect(AdminRoute(path) == nil)
    }

    @Test func `the parameters of a command survive encoding and parsing`() {
        let query = AdminQuery([
            (name: "channel", value: "a"), (name: "channel", value: "b&c=d e"),
            (name: "plan", value: ""),
        ])
        #expect(query.text == "?channel=a&channel=b%26c%3Dd%20e&plan")
        let read = AdminQuery(String(query.text.dropFirst()))
        #expect(read["channel"] == ["a", "b&c=d e"])
        #expect(read["plan"] == [""])
        #expect(AdminQuery([]).text == "")
    }
}
