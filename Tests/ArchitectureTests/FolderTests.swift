import Testing

/// The arrows between the folders of the daemon's targets.
@Suite struct FolderTests {
    /// The folders whose types each folder may name, in the order in which they build on each other.
    private typealias Rows = [(folder: String, names: Set<String>)]

    private static let allowed: [(target: String, rows: Rows)] = [
        (
            "NetproxyPath",
            [
                ("Routing", []),
                ("Access", ["Routing"]),
                ("Downstream", []),
                ("Forward", ["Routing", "Downstream"]),
                ("Outage", []),
                ("Channel", ["Routing", "Access", "Forward", "Outage"]),
                ("Recent", ["Routing", "Channel"]),
                (
                    "Exchange",
                    ["Routing", "Access", "Downstream", "Forward", "Channel", "Recent"]
                ),
            ]
        ),
        (
            "NetproxyChannels",
            [
                ("Reports", []),
                ("Logs", ["Reports"]),
                ("Secrets", []),
                ("Credentials", ["Reports", "Secrets"]),
                ("Reading", ["Secrets", "Credentials"]),
                ("Assembly", ["Reports", "Logs", "Secrets", "Credentials", "Reading"]),
            ]
        ),
        ("NetproxyService", [("Lifecycle", []), ("Admin", ["Lifecycle"])]),
        (
            "NetproxyCommands",
            [
                ("Check", []), ("Client", []), ("Demo", []), ("Exec", []), ("SignIn", []),
                ("State", []),
            ]
        ),
    ]

    /// The folder of each line of a target's code, and the line.
    private static func code(
        of target: String
    ) throws -> [(folder: String, line: SourceTree.Line)] {
        try SourceTree.code(of: target).map { line in
            (String(line.file.split(separator: "/")[3]), line)
        }
    }

    /// The words of a line that can be names, without those of strings.
    private static func words(of line: SourceTree.Line) -> [Substring] {
        line.text.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset.isMultiple(of: 2) }
            .flatMap { $0.element.split { !($0.isLetter || $0.isNumber || $0 == "_") } }
    }

    /// The folder of each type that other files can name: those declared at the left margin.
    private static func owners(in target: String) throws -> [String: String] {
        let keywords: Set<Substring> = [
            "struct", "class", "enum", "actor", "protocol", "typealias",
        ]
        var owners: [String: String] = [:]
        for (folder, line) in try code(of: target)
        where line.text.first != " " && !line.text.hasPrefix("private ") {
            let words = words(of: line)
            guard let keyword = words.firstIndex(where: keywords.contains),
                words.indices.contains(keyword + 1)
            else { continue }
            owners[String(words[keyword + 1])] = folder
        }
        return owners
    }

    @Test(arguments: allowed.map(\.target))
    func `a folder names only what it builds on`(target: String) throws {
        let rows = try #require(Self.allowed.first { $0.target == target }).rows
        let owners = try Self.owners(in: target)
        let allowed = Dictionary(
            uniqueKeysWithValues: rows.map { ($0.folder, $0.names.union([$0.folder])) }
        )
        for (folder, line) in try Self.code(of: target) {
            let allowed = try #require(allowed[folder], "\(folder) has no row in the table")
            for word in Self.words(of: line) {
                guard let owner = owners[String(word)] else { continue }
                #expect(allowed.contains(owner), "\(line) names \(word) of \(owner)")
            }
        }
    }

    @Test(arguments: allowed.map(\.target))
    func `the folders of a target build on each other without a cycle`(target: String) throws {
        var earlier: Set<String> = []
        for row in try #require(Self.allowed.first { $0.target == target }).rows {
            #expect(row.names.isSubset(of: earlier), "\(row.folder)")
            earlier.insert(row.folder)
        }
    }
}
