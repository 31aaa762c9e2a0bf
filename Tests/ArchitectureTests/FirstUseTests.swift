import Foundation
import Testing

/// The promises to a first user refer to checks that exist.
@Suite struct FirstUseTests {
    private static func rows() throws -> [(promise: String, check: String)] {
        try SourceTree.text(of: "Tests/ArchitectureTests/FirstUse.md").split(separator: "\n")
            .compactMap { line in
                let cells = line.split(separator: "|").map {
                    $0.trimmingCharacters(in: .whitespaces)
                }
                guard cells.count == 3, cells[2].hasPrefix("`") else { return nil }
                return (cells[0], cells[2].trimmingCharacters(in: ["`"]))
            }
    }

    /// Returns the cases of the Python suites by name, and the sections of the check.
    private static func otherChecks() throws -> Set<String> {
        let root = SourceTree.root.appending(path: "Tests/Interop").path()
        var found: Set<String> = []
        for file in try FileManager.default.contentsOfDirectory(atPath: root)
        where file.hasPrefix("cases_") && file.hasSuffix(".py") {
            let text = try SourceTree.text(of: "Tests/Interop/\(file)")
            found.formUnion(
                text.matches(of: /@case\ndef (\w+)/).map {
                    $0.output.1.replacingOccurrences(of: "_", with: "-")
                }
            )
        }
        let browser = try SourceTree.text(of: "Tests/Browser/run.py")
        found.formUnion(browser.matches(of: /run\.case\("([^"]+)"/).map { String($0.output.1) })
        let check = try SourceTree.text(of: ".ci/run")
        found.formUnion(check.matches(of: /section "([^"]+)"/).map { String($0.output.1) })
        return found
    }

    @Test func `every promise has a check`() throws {
        let promised = Set((1...16).map(String.init)).union(["all"])
        #expect(Set(try Self.rows().map(\.promise)) == promised)
    }

    @Test func `every check exists`() throws {
        let checks = try SourceTree.tests().union(Self.otherChecks())
        for row in try Self.rows() {
            #expect(checks.contains(row.check), "\(row.promise): \(row.check)")
        }
    }

    @Test func `the README is short and refers to the guide`() throws {
        let text = try SourceTree.text(of: "README.md")
        #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count <= 250)
        // Request, response and page are on the first screen.
        let first = text.split(separator: "\n").prefix(25).joined(separator: "\n")
        #expect(first.contains("GET /orders/42") && first.contains("page.png"))
        let links = text.matches(of: /\]\(([^)#:]+)\)/).map { String($0.output.1) }
        #expect(links.count > 10)
        for link in links {
            let path = SourceTree.root.appending(path: link).path()
            #expect(FileManager.default.fileExists(atPath: path), "\(link)")
        }
        let picture = SourceTree.root.appending(
            path: "Sources/Daemon/Documentation.docc/page.png"
        )
        #expect(try Data(contentsOf: picture).count <= 200_000)
    }
}
