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
        #expect(configuration.channels.count > 20)
        let orders = try #require(configuration.channels.first { $0.name == "orders" })
        #expect(orders.log.subsystem == "com.example.orders")
    }

    @Test(arguments: ConfigurationSchema.keys.map(\.path))
    func `the example shows the key`(path: String) throws {
        let key = try #require(path.split(separator: ".").last)
        let shown = try Self.text().split(separator: "\n").contains { Self.shows(key, in: $0) }
        #expect(shown)
    }

    @Test func `a map declares each key once`() {
        let paths = ConfigurationSchema.keys.map(\.path)
        #expect(paths.count > 220)
        #expect(Set(paths).count == paths.count)
    }

    @Test(arguments: ConfigurationSchema.keys.filter { $0.preset != nil })
    func `the example shows the declared default`(key: ConfigurationSchema.DeclaredKey) throws {
        let preset = try #require(key.preset)
        let written = try load(Self.text()).written
        let isWritten = written.paths.contains { path in
            Self.pattern(of: path) == key.path && written.text(at: path) == preset
        }
        #expect(try isWritten || Self.comments(on: key.path).contains(preset))
    }

    /// Returns whether the line, or a commented key in it, contains the key.
    private static func shows(_ key: some StringProtocol, in line: some StringProtocol) -> Bool {
        line.split { " #{,".contains($0) }.contains { $0 == "\(key):" }
    }

    /// Returns the key path with `*` for each name and index.
    private static func pattern(of path: String) -> String {
        var parts = path.split(separator: ".").map(String.init)
        if ["channels", "identities"].contains(parts[0]), parts.count > 1 { parts[1] = "*" }
        return parts.joined(separator: ".").replacing(/\[[0-9]+\]/, with: "[*]")
    }

    /// Returns the defaults stated in the comments above a key of this name.
    ///
    /// They are written `Default: 5m.` or `Defaults: 100ms and 2s.`
    private static func comments(on path: String) throws -> Set<String> {
        let key = try #require(path.split(separator: ".").last)
        var defaults: Set<String> = []
        var comment = ""
        for line in try text().split(separator: "\n") {
            let trimmed = line.drop { $0 == " " }
            if trimmed.hasPrefix("#") { comment += trimmed.dropFirst() }
            guard !trimmed.hasPrefix("#") || shows(key, in: line) else { continue }
            if shows(key, in: line) {
                let statement = /Defaults?(?: of [a-z_]+)?: (.*?)(?:[.;]? *$|[.;] )/
                for match in comment.matches(of: statement) {
                    defaults.formUnion(match.1.split(separator: #/ and |, /#).map(String.init))
                    // `null` and `none` mean that a key is off.
                    if ["null", "none"].contains(match.1) { defaults.insert("off") }
                }
            }
            if !trimmed.hasPrefix("#") { comment = "" }
        }
        return defaults
    }
}
