import Foundation
import Testing

/// The pages about 401s explain every reason and name files that exist.
@Suite struct UnresolvedUnauthorizedTests {
    private static let page =
        "Sources/Daemon/Documentation.docc/UnresolvedUnauthorized.md"

    /// Returns the words of the log, as spelled in the enum.
    private static func words() throws -> [String] {
        let source = try SourceTree.text(
            of: "Sources/Core/NetworkCore/Authorization/NotReplayed.swift"
        )
        return source.split(separator: "\n").filter { $0.contains(" case ") }
            .compactMap { $0.split(separator: "\"").dropFirst().first.map(String.init) }
    }

    @Test(arguments: ["Sources/Daemon/Documentation.docc/Guide/Errors.md", page])
    func `a page explains every reason`(path: String) throws {
        let text = try SourceTree.text(of: path)
        let words = try Self.words()
        #expect(words.count >= 14)
        #expect(words.filter { !text.contains("`\($0)`") } == [])
    }

    @Test func `every file that the page names exists`() throws {
        let text = try SourceTree.text(of: Self.page)
        let named = text.split { !$0.isLetter && !$0.isNumber && $0 != "+" && $0 != "." }
            .map { $0.hasSuffix(".") ? String($0.dropLast()) : String($0) }
            .filter { $0.hasSuffix(".swift") }
        #expect(named.count > 20)
        let tests = try FileManager.default.subpathsOfDirectory(
            atPath: SourceTree.root.appending(path: "Tests").path()
        ).map { String($0.split(separator: "/").last ?? "") }
        let known = try SourceTree.sourceFileNames().union(tests)
        #expect(Set(named).subtracting(known) == [])
    }
}
