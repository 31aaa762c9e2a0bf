import Testing

@testable import NetproxyService

/// The parameters of a command in its request to the daemon.
@Suite struct AdminQueryTests {
    @Test(
        arguments: [
            ("where=status=500", ["status=500"]), ("where=a%3Db+c%26", ["a=b c&"]),
            ("where=1&channel=2&where=3", ["1", "3"]), ("where", [""]), ("where=", [""]),
            ("&&where=1&", ["1"]), ("channel=where", []), (nil, []),
        ] as [(String?, [String])]
    )
    func `a parameter has its values in order`(query: String?, values: [String]) {
        #expect(AdminQuery(query)["where"] == values)
    }

    @Test func `the first unknown parameter is reported`() {
        let query = AdminQuery("channel=a&plna&other=1")
        #expect(query.unknownName(among: ["channel"]) == "plna")
        #expect(query.unknownName(among: ["channel", "plna", "other"]) == nil)
    }
}
