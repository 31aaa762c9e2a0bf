import Foundation
import Testing

/// The symbols and tests in the table of covered requirements exist.
@Suite struct CoverageTests {
    private struct Row {
        let id: String
        let symbol: String
        let test: String
    }

    private static func rows() throws -> [Row] {
        let text = try SourceTree.text(of: "Tests/ArchitectureTests/Coverage.md")
        return text.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 4, cells[2].hasPrefix("`"), cells[3].hasPrefix("`") else {
                return nil
            }
            return Row(
                id: cells[0],
                symbol: cells[2].trimmingCharacters(in: ["`"]),
                test: cells[3].trimmingCharacters(in: ["`"])
            )
        }
    }

    @Test func `every row of the four lists exists once`() throws {
        let expected = [("T", 29), ("N", 29), ("M", 21), ("P", 13)].flatMap { letter, count in
            (1...count).map { "\(letter)\($0)" }
        }
        #expect(try Self.rows().map(\.id) == expected)
    }

    /// Returns the names that the library's own targets declare.
    private static func declared() throws -> Set<String> {
        let keywords: Set<Substring> = [
            "struct", "class", "enum", "protocol", "typealias", "actor", "func", "var", "case",
        ]
        var names: Set<String> = []
        let targets = [
            "NetworkCore", "OAuth", "NetworkClient", "NetworkTesting", "OriginTransport",
            "NetproxyHTTPMessage",
        ]
        for target in targets {
            for line in try SourceTree.code(of: target) {
                let words = line.text.split { !($0.isLetter || $0.isNumber || $0 == "_") }
                for (keyword, name) in zip(words, words.dropFirst())
                where keywords.contains(keyword) {
                    names.insert(String(name))
                }
            }
        }
        return names
    }

    @Test func `every symbol is declared in the sources`() throws {
        let declared = try Self.declared()
        for row in try Self.rows() {
            #expect(declared.contains(row.symbol), "\(row.id): \(row.symbol)")
        }
    }

    @Test func `every test exists`() throws {
        let tests = try SourceTree.tests()
        for row in try Self.rows() {
            #expect(tests.contains(row.test), "\(row.id): \(row.test)")
        }
    }
}
