import Testing

/// The dependencies between the folders of `NetproxyService` on the path of a request.
@Suite struct FolderTests {
    /// The folders whose types each folder may name, in dependency order.
    private static let allowed: [(folder: String, names: Set<String>)] = [
        ("Routing", []),
        ("Access", ["Routing"]),
        ("Downstream", []),
        ("Forward", ["Routing", "Downstream"]),
        ("Recent", ["Routing", "Channels"]),
        ("Path", ["Routing", "Access", "Downstream", "Forward", "Recent", "Channels"]),
    ]

    /// Returns each line of code with its folder.
    private static func code() throws -> [(folder: String, line: SourceTree.Line)] {
        try SourceTree.code(of: "NetproxyService").map { line in
            (String(line.file.split(separator: "/")[3]), line)
        }
    }

    /// Returns the words of a line that can be names, except those in strings.
    private static func words(of line: SourceTree.Line) -> [Substring] {
        line.text.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset.isMultiple(of: 2) }
            .flatMap { $0.element.split { !($0.isLetter || $0.isNumber || $0 == "_") } }
    }

    /// Returns the folder of each type that other files can name, declared at the left margin.
    private static func owners() throws -> [String: String] {
        let keywords: Set<Substring> = [
            "struct", "class", "enum", "actor", "protocol", "typealias",
        ]
        var owners: [String: String] = [:]
        for (folder, line) in try code()
        where line.text.first != " " && !line.text.hasPrefix("private ") {
            let words = words(of: line)
            guard let keyword = words.firstIndex(where: keywords.contains),
                words.indices.contains(keyword + 1)
            else { continue }
            owners[String(words[keyword + 1])] = folder
        }
        return owners
    }

    @Test func `a folder on the path of a request uses only the folders below it`() throws {
        let owners = try Self.owners()
        let allowed = Dictionary(
            uniqueKeysWithValues: Self.allowed.map { ($0.folder, $0.names.union([$0.folder])) }
        )
        for (folder, line) in try Self.code() {
            guard let allowed = allowed[folder] else { continue }
            for word in Self.words(of: line) {
                guard let owner = owners[String(word)] else { continue }
                #expect(allowed.contains(owner), "\(line) names \(word) of \(owner)")
            }
        }
    }

    @Test func `the folders on the path of a request have no cycle`() {
        var earlier: Set<String> = ["Channels"]
        for row in Self.allowed {
            #expect(row.names.isSubset(of: earlier), "\(row.folder)")
            earlier.insert(row.folder)
        }
    }
}
