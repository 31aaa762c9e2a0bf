import Foundation
import Testing

/// The pages that say which files a new key and a new kind of credential need.
@Suite struct AddingPagesTests {
    /// The files that a page names, without their folders.
    private static func files(of page: String) throws -> [String] {
        try SourceTree.text(of: "Sources/Daemon/Documentation.docc/\(page).md")
            .split(separator: "`")
            .filter { $0.hasSuffix(".swift") || $0.hasSuffix(".yaml") }
            .filter { !$0.contains("<Kind>") }
            .map(String.init)
    }

    private static func known() throws -> Set<String> {
        let folders = ["Tests", "config"].map { SourceTree.root.appending(path: $0).path() }
        let others = try folders.flatMap {
            try FileManager.default.subpathsOfDirectory(atPath: $0)
        }
        let names = others.map { String($0.split(separator: "/").last ?? "") }
        return try SourceTree.sourceFileNames().union(names)
    }

    @Test(arguments: [("AddingAKey", 14), ("AddingACredentialKind", 6)])
    func `every file that the page names exists`(page: String, count: Int) throws {
        let files = try Self.files(of: page)
        #expect(Set(files).count >= count)
        #expect(try Set(files).subtracting(Self.known()) == [])
    }

    /// The names of the types that a pattern matches in the files of a folder.
    private static func names(
        in folder: String,
        matching pattern: Regex<(Substring, Substring)>
    ) throws -> Set<String> {
        let files = try FileManager.default.contentsOfDirectory(
            atPath: SourceTree.root.appending(path: folder).path()
        )
        var names: Set<String> = []
        for file in files where file.hasSuffix(".swift") {
            let text = try SourceTree.text(of: "\(folder)/\(file)")
            names.formUnion(text.matches(of: pattern).map { String($0.1) })
        }
        return names
    }

    @Test func `a kind of credential has a line in the registry and a half at run time`() throws {
        let folder = "Sources/Daemon/Config/Credentials"
        let kinds = try Self.names(in: folder, matching: /struct (\w+)Kind: CredentialKind/)
        let registry = try SourceTree.text(of: "\(folder)/CredentialKinds.swift")
        let registered = registry.matches(of: /\n {8}(\w+)Kind\(\),/).map { String($0.1) }
        let provided = try Self.names(
            in: "Sources/Daemon/Channels/Credentials/Kinds",
            matching: /extension (\w+)Settings: CredentialProviding/
        )
        #expect(kinds.count >= 8)
        #expect(Set(registered) == kinds)
        #expect(provided == kinds)
    }

    @Test func `a new kind of credential needs at most seven files`() throws {
        let page = try SourceTree.text(
            of: "Sources/Daemon/Documentation.docc/AddingACredentialKind.md"
        )
        let rows = page.matches(of: /\n\| [0-9] \| `([^`]+)`/)
        #expect((1...7).contains(rows.count))
    }
}
