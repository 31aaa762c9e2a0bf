import Testing

@testable import NetproxyPath

/// The table of path prefixes, with enough prefixes that slots collide.
@Suite struct RoutingTablesTests {
    private static let names = (0..<200).map { "/channel\($0)" }

    private static let table = PathTable(
        (names + [""]).enumerated()
            .map { PathTable.Rule(channel: $0.offset, prefix: $0.element, strips: true) }
    )

    @Test(arguments: ["", "/", "/1", "?x", "/../channel1"])
    func `prefixes in one slot are distinguished`(rest: String) {
        for (number, name) in RoutingTablesTests.names.enumerated() {
            #expect(RoutingTablesTests.table.rule(for: name + rest)?.channel == number)
        }
    }

    @Test func `a path without a longer prefix belongs to the root`() {
        for number in 200..<1000 {
            #expect(RoutingTablesTests.table.rule(for: "/channel\(number)/1")?.prefix == "")
        }
        #expect(PathTable([]).rule(for: "/channel1") == nil)
    }
}
