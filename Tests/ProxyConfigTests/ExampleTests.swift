import FoundationEssentials
import ProxyConfig
import Testing

@Suite struct ExampleFile {
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
                "orders", "billing", "reports", "mail", "ledger", "warehouse", "search", "maps",
                "weather", "samples",
            ]
        )
        #expect(configuration.channels[0].log.subsystem == "com.example.orders")
    }

    @Test(arguments: ConfigurationSchema.keyPaths)
    func `the example shows the key`(path: String) throws {
        let key = try #require(path.split(separator: ".").last)
        let shown = try Self.text().split(separator: "\n").contains { line in
            line.split { " #{,".contains($0) }.contains { $0 == "\(key):" }
        }
        #expect(shown)
    }
}
