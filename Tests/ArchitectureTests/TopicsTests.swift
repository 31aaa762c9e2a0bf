import Foundation
import Testing

/// The front page of each library lists its public types.
@Suite struct TopicsTests {
    /// Returns the types that a program can name, at the left margin of their files.
    private static func types(of modules: [String]) throws -> Set<String> {
        let keywords: Set<Substring> = [
            "struct", "class", "enum", "protocol", "typealias", "actor",
        ]
        let lines = try modules.flatMap(SourceTree.code).filter { line in
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

    @Test(arguments: [("NetworkClient", ["NetworkClient", "NetworkCore"]), ("OAuth", ["OAuth"])])
    func `every public type is listed once under the topics`(
        _ module: String,
        with exported: [String]
    ) throws {
        let page = "Sources/\(SourceTree.folders[module] ?? "")/Documentation.docc/\(module).md"
        let named = try SourceTree.text(of: page).split(separator: "\n").compactMap { line in
            line.hasPrefix("- ``") ? String(line.dropFirst(4).prefix { $0 != "`" }) : nil
        }
        let types = try Self.types(of: exported)
        #expect(named.count == Set(named).count)
        #expect(types.subtracting(named) == [])
        #expect(Set(named).subtracting(types) == [])
    }
}
