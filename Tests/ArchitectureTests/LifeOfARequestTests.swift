import Testing

/// The page that leads a new reader through one request names few files, and they exist.
@Suite struct LifeOfARequestTests {
    private static let page = "Sources/Daemon/Documentation.docc/LifeOfARequest.md"

    /// Returns the files that the page names, in order.
    private static func files() throws -> [String] {
        try SourceTree.text(of: page).split(separator: "`", omittingEmptySubsequences: false)
            .filter { $0.hasSuffix(".swift") && !$0.contains(" ") }
            .map(String.init)
    }

    @Test func `every file on the path of a request exists`() throws {
        let files = try Self.files()
        #expect(files.count > 20)
        #expect(try Set(files).subtracting(SourceTree.sourceFileNames()) == [])
    }

    @Test func `the path of a request is at most thirty files, each named once`() throws {
        let files = try Self.files()
        #expect(files.count <= 30)
        #expect(Set(files).count == files.count)
    }

    @Test func `a request has ten steps`() throws {
        let steps = try SourceTree.text(of: Self.page).split(separator: "\n").filter { line in
            line.first?.isNumber == true
        }
        #expect(steps.count == 10)
    }
}
