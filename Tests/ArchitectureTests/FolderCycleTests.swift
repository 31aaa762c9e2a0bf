import Testing

/// The arrows between the folders of targets whose folders are layers.
@Suite struct FolderCycleTests {
    /// The folder of a line below its target; empty for the target's own folder.
    private static func folder(of line: SourceTree.Line) -> String {
        let part = line.file.split(separator: "/").dropFirst(3).first ?? ""
        return part.hasSuffix(".swift") ? "" : String(part)
    }

    /// The words of a line that can be names of types, without those of strings.
    private static func words(of line: SourceTree.Line) -> [Substring] {
        line.text.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset.isMultiple(of: 2) }
            .flatMap { $0.element.split { !($0.isLetter || $0.isNumber || $0 == "_") } }
    }

    /// The folder of each type that other files can name: those declared at the left margin.
    private static func owners(in code: [SourceTree.Line]) -> [Substring: String] {
        let keywords: Set<Substring> = ["struct", "class", "enum", "actor", "protocol"]
        var owners: [Substring: String] = [:]
        for line in code where line.text.first != " " && !line.text.hasPrefix("private ") {
            let words = words(of: line)
            guard let keyword = words.firstIndex(where: keywords.contains),
                words.indices.contains(keyword + 1)
            else { continue }
            owners[words[keyword + 1]] = folder(of: line)
        }
        return owners
    }

    @Test(arguments: [
        "NetproxyEventIO", "NetproxySystem", "NetworkCore", "OriginTransport", "NetworkClient",
        "NetproxyRequestLog",
    ])
    func `no two folders of a target depend on each other`(target: String) throws {
        let code = try SourceTree.code(of: target)
        let owners = Self.owners(in: code)
        var arrows: [String: [String: String]] = [:]
        for line in code {
            let folder = Self.folder(of: line)
            for word in Self.words(of: line) {
                guard let owner = owners[word], owner != folder else { continue }
                arrows[folder, default: [:]][owner] = "\(line) names \(word)"
            }
        }
        for (folder, targets) in arrows {
            for (other, evidence) in targets where folder < other {
                guard let back = arrows[other]?[folder] else { continue }
                Issue.record("\(folder) and \(other): \(evidence); \(back)")
            }
        }
    }
}
