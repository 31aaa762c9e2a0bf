import Foundation
import Testing

/// The files and tests in the table of RFC requirements exist.
@Suite struct RequirementsTests {
    private struct Row {
        let cells: [String]
        var section: String { cells[0] }
        /// The text between backticks in the last column.
        var test: String { cells[3].trimmingCharacters(in: ["`"]) }
    }

    private static let page = "Sources/Daemon/Documentation.docc/Requirements.md"

    private static func rows(ofDepartures wanted: Bool) throws -> [Row] {
        let parts = try SourceTree.text(of: page).components(separatedBy: "### Departures")
        return parts[wanted ? 1 : 0].split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            return cells.count == 4 && cells[0].hasPrefix("9") ? Row(cells: cells) : nil
        }
    }

    @Test func `every requirement has a file that exists`() throws {
        let rows = try Self.rows(ofDepartures: false)
        #expect(rows.count > 80)
        let names = try SourceTree.sourceFileNames()
        for row in rows {
            #expect(names.contains(row.cells[2]), "\(row.section): \(row.cells[2])")
        }
    }

    @Test func `every requirement and departure has a test that exists`() throws {
        let tests = try SourceTree.tests().union(SourceTree.corpusCases())
        for row in try Self.rows(ofDepartures: false) + Self.rows(ofDepartures: true) {
            #expect(tests.contains(row.test), "\(row.section): \(row.test)")
        }
    }

    @Test func `every departure has a reason`() throws {
        let rows = try Self.rows(ofDepartures: true)
        #expect(rows.count > 10)
        for row in rows { #expect(row.cells[2].count > 20, "\(row.section)") }
    }
}

extension SourceTree {
    /// Returns the names of all Swift files below `Sources`, without their folders.
    static func sourceFileNames() throws -> Set<String> {
        let paths = try FileManager.default.subpathsOfDirectory(
            atPath: root.appending(path: "Sources").path()
        )
        return Set(paths.compactMap { $0.split(separator: "/").last.map(String.init) })
    }

    /// Returns the sentences that name the tests.
    static func tests() throws -> Set<String> {
        try found(below: "Tests", suffix: ".swift") { _, line in
            guard let start = line.range(of: "func `") else { return nil }
            return line[start.upperBound...].split(separator: "`").first.map(String.init)
        }
    }

    /// Returns the raw cases by file and name.
    static func corpusCases() throws -> Set<String> {
        try found(below: "Tests/HTTP1Tests/Corpus", suffix: ".http") { file, line in
            guard line.hasPrefix("request: ") || line.hasPrefix("response"),
                let colon = line.range(of: ": ")
            else { return nil }
            return "\(file.dropLast(5)): \(line[colon.upperBound...])"
        }
    }

    private static func found(
        below directory: String,
        suffix: String,
        _ name: (_ file: String, _ line: Substring) -> String?
    ) throws -> Set<String> {
        let files = try FileManager.default.subpathsOfDirectory(
            atPath: root.appending(path: directory).path()
        )
        var names: Set<String> = []
        for file in files where file.hasSuffix(suffix) {
            for line in try text(of: "\(directory)/\(file)").split(separator: "\n") {
                if let name = name(file, line) { names.insert(name) }
            }
        }
        return names
    }
}
