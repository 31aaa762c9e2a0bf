import Foundation
import Synchronization

/// The package's own source files, as text.
enum SourceTree {
    /// A line of a file.
    struct Line: CustomStringConvertible {
        let file: String
        let number: Int
        let text: String
        var description: String { "\(file):\(number): \(text)" }
    }

    static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The folder of each target with Swift code, as in the manifest: "Base/Bytes".
    static let folders: [String: String] = {
        let manifest = (try? text(of: "Package.swift")) ?? ""
        let helper = manifest.matches(of: #/module\(\s*"(\w+)",\s*at: "([\w\/]+)"/#)
            .map { (String($0.1), String($0.2)) }
        let program = manifest.matches(
            of: #/executableTarget\(\s*name: "(\w+)".*?path: "Sources\/([\w\/]+)"/#
                .dotMatchesNewlines()
        )
        .map { (String($0.1), String($0.2)) }
        return Dictionary(uniqueKeysWithValues: helper + program)
    }()

    /// Returns the targets with Swift code below `Sources`.
    static func targets() -> [String] { folders.keys.sorted() }

    /// Returns the text of a file of the package.
    static func text(of path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// Returns the Swift files of a target, as paths within the package.
    private static func files(of target: String) throws -> [String] {
        let folder = "Sources/" + (folders[target] ?? target)
        return try FileManager.default.subpathsOfDirectory(
            atPath: root.appending(path: folder).path()
        ).filter { $0.hasSuffix(".swift") }.sorted().map { "\(folder)/\($0)" }
    }

    private static let known = Mutex<[String: [Line]]>([:])

    /// Returns the lines of code of a target, without comments; each target is read once.
    static func code(of target: String) throws -> [Line] {
        try known.withLock { known in
            if let lines = known[target] { return lines }
            let lines = try readCode(of: target)
            known[target] = lines
            return lines
        }
    }

    private static func readCode(of target: String) throws -> [Line] {
        try files(of: target).flatMap { path in
            let text = try String(contentsOf: root.appending(path: path), encoding: .utf8)
            return text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
                .compactMap { index, line in
                    let code = withoutComment(line)
                    return code.allSatisfy(\.isWhitespace)
                        ? nil : Line(file: path, number: index + 1, text: code)
                }
        }
    }

    /// Returns the declarations of a target that other targets can see, each up to its `{`, in one line.
    static func signatures(of target: String) throws -> [Line] {
        var (signatures, open): ([Line], Line?) = ([], nil)
        for line in try code(of: target) {
            let isShown = ["package ", "public ", "open "].contains { line.text.contains($0) }
            guard open != nil || isShown && !line.text.contains("import ") else { continue }
            let first = open ?? line
            let joined = (open.map { $0.text + " " } ?? "") + line.text.drop { $0 == " " }
            let (text, isWhole) = signature(in: joined)
            let signature = Line(file: first.file, number: first.number, text: text)
            if isWhole { signatures.append(signature) }
            open = isWhole ? nil : signature
        }
        return signatures
    }

    /// Returns a declaration without its body, and whether it is complete.
    private static func signature(in text: String) -> (text: String, isWhole: Bool) {
        var depth = 0
        for index in text.indices {
            switch text[index] {
            case "(", "[": depth += 1
            case ")", "]": depth -= 1
            // A brace within parentheses belongs to a default value.
            case "{" where depth == 0: return (String(text[..<index]), true)
            default: break
            }
        }
        let words = text.split { !$0.isLetter }
        let hasBody = words.contains { ["func", "init", "subscript"].contains($0) }
        let goesOn = text.last.map { ":=,".contains($0) } ?? true
        return (text, depth == 0 && !hasBody && !goesOn)
    }

    private static func withoutComment(_ line: Substring) -> String {
        let trimmed = line.drop { $0 == " " }
        if trimmed.hasPrefix("//") { return "" }
        guard let comment = line.range(of: " // ") else { return String(line) }
        return String(line[..<comment.lowerBound])
    }

    /// Returns the modules that a target imports.
    static func imports(of target: String) throws -> Set<String> {
        Set(
            try code(of: target).compactMap { line in
                var words = line.text.split(separator: " ")
                while let first = words.first,
                    first.hasPrefix("@") || ["package", "public", "internal"].contains(first)
                {
                    words.removeFirst()
                }
                guard words.first == "import", let last = words.last else { return nil }
                return last.split(separator: ".").first.map(String.init)
            }
        )
    }
}
