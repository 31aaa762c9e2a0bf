import Testing

@testable import NetproxyService

/// The parameters that commands give the daemon with a question.
@Suite struct AdminQueryTests {
    @Test(
        arguments: [
            ("where=status=500", ["status=500"]), ("where=a%3Db+c%26", ["a=b c&"]),
            ("where=1&channel=2&where=3", ["1", "3"]), ("where", [""]), ("where=", [""]),
            ("&&where=1&", ["1"]), ("channel=where", []), (nil, []),
        ] as [(String?, [String])]
    )
    func `a name has its values, in their order`(query: String?, values: [String]) {
        #expect(AdminQuery(query)["where"] == values)
    }

    @Test func `the first name that is not known is told`() {
        let query = AdminQuery("channel=a&plna&other=1")
        #expect(query.unknownName(among: ["channel"]) == "plna")
        #expect(query.unknownName(among: ["channel", "plna", "other"]) == nil)
    }
}
