import Foundation
import Testing

/// The library's front page has a place for everything.
@Suite struct TopicsTests {
    /// The types that a program can name, at the left margin of their files.
    private static func types() throws -> Set<String> {
        let keywords: Set<Substring> = [
            "struct", "class", "enum", "protocol", "typealias", "actor",
        ]
        let lines = try SourceTree.code(of: "NetworkCore").filter { line in
            ["public ", "open "].contains { line.text.hasPrefix($0) }
        }
        return Set(
            lines.compactMap { line in
                let words = line.text.split { !($0.isLetter || $0.isNumber || $0 == "_") }
                let keyword = words.firstIndex(where: keywords.contains)
                return keyword.map { String(words[$0 + 1]) }
            }
        )
    }

    @Test func `every public type has its place among the topics, once`() throws {
        let page = "Sources/NetworkCore/Documentation.docc/NetworkCore.md"
        let named = try SourceTree.text(of: page).split(separator: "\n").compactMap { line in
            line.hasPrefix("- ``") ? String(line.dropFirst(4).prefix { $0 != "`" }) : nil
        }
        #expect(named.count == Set(named).count)
        #expect(try Self.types().subtracting(named) == [])
        #expect(try Set(named).subtracting(Self.types()) == [])
    }
}
