import FoundationEssentials

/// Why a file that the configuration names cannot be read, for people.
enum UnreadableFile {
    /// `cannot read /x: there is no such file`, or what else is the matter.
    static func words(_ path: String) -> String {
        var isDirectory = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            return "cannot read \(path): there is no such file"
        }
        if isDirectory { return "cannot read \(path): it is a directory" }
        return FileManager.default.isReadableFile(atPath: path)
            ? "cannot read \(path)" : "cannot read \(path): permission denied"
    }
}
