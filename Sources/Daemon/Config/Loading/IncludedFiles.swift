import FoundationEssentials

/// Reads the files of `include`.
package struct IncludedFiles: Sendable {
    /// Returns the bytes of a file, or throws errors with that file's name.
    let read: @Sendable (_ path: String) throws(ConfigurationErrors) -> [UInt8]

    package init(
        read: @escaping @Sendable (_ path: String) throws(ConfigurationErrors) -> [UInt8]
    ) {
        self.read = read
    }

    /// Reads the files from the disk.
    package static let onDisk = IncludedFiles { path throws(ConfigurationErrors) in
        if let contents = FileManager.default.contents(atPath: path) { return Array(contents) }
        let error = ConfigurationError(
            file: path,
            position: .start,
            key: "",
            message: "cannot read the file"
        )
        throw ConfigurationErrors([error])
    }

    /// Returns the paths that match a pattern, in alphabetical order.
    ///
    /// In the last part of the path, `*` matches any characters except a dot at the beginning, like in a
    /// shell. A path without a star is returned even if there is no such file.
    ///
    /// - Parameters:
    ///   - pattern: an absolute path, or one relative to the directory of the main file.
    ///   - main: the main file.
    /// - Returns: the paths; those of a relative pattern begin with the directory of the main file.
    static func paths(_ pattern: String, of main: String) -> [String] {
        let slash = main.lastIndex(of: "/").map { main[...$0] } ?? ""
        let path = pattern.hasPrefix("/") ? pattern : slash + pattern
        let nameStart = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        let (directory, name) = (String(path[..<nameStart]), path[nameStart...])
        guard name.contains("*") else { return [path] }
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(
                atPath: directory.isEmpty ? "." : directory
            )
        } catch {
            // Same result as a directory without a matching file.
            return []
        }
        return names.filter { matches($0, name) }.sorted().map { directory + $0 }
    }

    private static func matches(_ name: String, _ pattern: Substring) -> Bool {
        guard pattern.hasPrefix(".") || !name.hasPrefix(".") else { return false }
        let parts = pattern.split(separator: "*", omittingEmptySubsequences: false)
        var rest = name[...]
        guard rest.hasPrefix(parts[0]) else { return false }
        rest = rest.dropFirst(parts[0].count)
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            guard let found = rest.firstRange(of: part) else { return false }
            rest = rest[found.upperBound...]
        }
        return rest.hasSuffix(parts[parts.count - 1])
    }
}
