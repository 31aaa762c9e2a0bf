import Foundation
import Testing

/// The pages that say which files a new key and a new kind of credential need.
@Suite struct AddingPagesTests {
    /// The files that a page names, without their folders.
    private static func files(of page: String) throws -> [String] {
        try SourceTree.text(of: "Sources/Daemon/Documentation.docc/\(page).md")
            .split(separator: "`")
            .filter { $0.hasSuffix(".swift") || $0.hasSuffix(".yaml") }
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

    @Test func `the registry has one line for each file of a kind`() throws {
        let folder = "Sources/Daemon/Config/Credentials"
        let registry = try SourceTree.text(of: "\(folder)/CredentialKinds.swift")
        let files = try FileManager.default.contentsOfDirectory(
            atPath: SourceTree.root.appending(path: folder).path()
        )
        var kinds: [String] = []
        for file in files where file.hasSuffix(".swift") {
            let text = try SourceTree.text(of: "\(folder)/\(file)")
            kinds += text.matches(of: /struct (\w+Kind): CredentialKind/).map { String($0.1) }
        }
        #expect(kinds.count >= 8)
        for kind in kinds { #expect(registry.contains("        \(kind)(),\n"), "\(kind)") }
    }
}
