import FoundationEssentials

/// A new directory, removed with its last reference.
package final class TokenDirectory: Sendable {
    package let path: String

    package init() throws {
        path =
            FileManager.default.temporaryDirectory
            .appendingPathComponent("oauth-\(UInt64.random(in: 0...UInt64.max))").path
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: true
        )
    }

    deinit {
        do { try FileManager.default.removeItem(atPath: path) } catch {}
    }

    package var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }

    package func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(filePath: "\(path)/\(name)"))
    }

    package func text(of name: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(filePath: "\(path)/\(name)")), as: UTF8.self)
    }
}
