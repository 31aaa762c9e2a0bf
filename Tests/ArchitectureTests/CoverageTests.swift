import Foundation
import Testing

/// The table of what is covered names things that exist.
@Suite struct CoverageTests {
    private struct Row {
        let id: String
        let symbol: String
        let test: String
    }

    private static func rows() throws -> [Row] {
        let text = try SourceTree.text(of: "Sources/NetworkCore/Documentation.docc/Coverage.md")
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

    @Test func `every row of the four lists is there once`() throws {
        let expected = [("T", 29), ("N", 29), ("M", 21), ("P", 13)].flatMap { letter, count in
            (1...count).map { "\(letter)\($0)" }
        }
        #expect(try Self.rows().map(\.id) == expected)
    }

    @Test func `every symbol is declared in the sources`() throws {
        let code = try SourceTree.targets().flatMap { try SourceTree.code(of: $0) }.map(\.text)
        for row in try Self.rows() {
            let forms = [
                "struct", "class", "enum", "protocol", "typealias", "actor", "func", "var", "case",
            ]
            .map { "\($0) \(row.symbol)" }
            let isDeclared = code.contains { line in
                forms.contains { form in
                    guard let range = line.range(of: form) else { return false }
                    return !(line[range.upperBound...].first.map { $0.isLetter } ?? false)
                }
            }
            #expect(isDeclared, "\(row.id): \(row.symbol)")
        }
    }

    @Test func `every test is there`() throws {
        let tests = try SourceTree.tests()
        for row in try Self.rows() {
            #expect(tests.contains("func `\(row.test)`("), "\(row.id): \(row.test)")
        }
    }
}
