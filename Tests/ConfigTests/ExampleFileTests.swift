import FoundationEssentials
import NetproxyConfig
import Testing

@Suite struct ExampleFileTests {
    private static func text() throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let file = root.appending(path: "config/netproxy.example.yaml")
        return String(decoding: try Data(contentsOf: file), as: UTF8.self)
    }

    @Test func `the example loads`() throws {
        let configuration = try load(Self.text())
        #expect(
            configuration.channels.map(\.name) == [
                "maps", "billing", "stock", "mail", "orders", "reports", "chat", "weather",
                "calendar", "drive", "failover-keys", "tools", "ledger", "warehouse", "search",
                "code", "meetings", "storage", "push", "pay", "samples",
            ]
        )
        let orders = try #require(configuration.channels.first { $0.name == "orders" })
        #expect(orders.log.subsystem == "com.example.orders")
    }

    @Test(arguments: ConfigurationSchema.keyPaths)
    func `the example shows the key`(path: String) throws {
        let key = try #require(path.split(separator: ".").last)
        let shown = try Self.text().split(separator: "\n").contains { line in
            line.split { " #{,".contains($0) }.contains { $0 == "\(key):" }
        }
        #expect(shown)
    }

    @Test func `the values shown are the defaults`() throws {
        let example = try load(Self.text())
        let minimal = try load("channels: { orders: { upstream: https://api.example.com/v1 } }")
        #expect(example.listen == minimal.listen)
        #expect(example.allowRemote == minimal.allowRemote)
        #expect(example.stateKeys == minimal.stateKeys)
        #expect(example.workers == minimal.workers)
        #expect(example.busyPoll == minimal.busyPoll)
        #expect(example.drain == minimal.drain)
        #expect(example.limits == minimal.limits)
        #expect(example.unmatched == minimal.unmatched)
        #expect(example.connect == minimal.connect)
        #expect(example.log.output == minimal.log.output)
        #expect(example.log.format == minimal.log.format)
        #expect(example.log.rotate == minimal.log.rotate)
        let shown = try #require(example.channels.first { $0.name == "orders" })
        let plain = minimal.channels[0]
        #expect(shown.match == plain.match && shown.host == plain.host)
        #expect(shown.rewrite == plain.rewrite)
        #expect(shown.rate == plain.rate)
        #expect(shown.log.query == plain.log.query)
        #expect(shown.log.headers == plain.log.headers)
        #expect(shown.trace == plain.trace)
        #expect(shown.onClientCredential == plain.onClientCredential)
        #expect(shown.allowInsecure == plain.allowInsecure)
        #expect(shown.retry == plain.retry)
        #expect(shown.timeouts == plain.timeouts)
        #expect(shown.pool == plain.pool)
        #expect(shown.tls == plain.tls)
        #expect(shown.access == plain.access)
        #expect(shown.proxy == plain.proxy && shown.stub == plain.stub)
    }
}
