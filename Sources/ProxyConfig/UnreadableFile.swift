import FoundationEssentials
import System

/// Why a file that the configuration names cannot be read, for people.
enum UnreadableFile {
    /// `cannot read /x: there is no such file`, or what else is the matter.
    static func words(_ path: String) -> String {
        var isDirectory = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            // A directory that one may not enter hides what is in it.
            if let closed = closedDirectory(above: path) {
                return "cannot read \(path): permission denied in \(closed)"
            }
            return "cannot read \(path): there is no such file"
        }
        if isDirectory { return "cannot read \(path): it is a directory" }
        guard FileManager.default.isReadableFile(atPath: path) else {
            return "cannot read \(path): permission denied"
        }
        return "cannot read \(path)" + (reason(path).map { ": \($0)" } ?? "")
    }

    /// What the system says of it now, in its own words.
    private static func reason(_ path: String) -> String? {
        do throws(FileError) {
            _ = try ReadableFile(path: path).read(1, at: 0)
            return nil
        } catch {
            return error.reason
        }
    }

    /// Whether it may be there, for others to read.
    static func isDenied(_ path: String) -> Bool {
        guard FileManager.default.fileExists(atPath: path) else {
            return closedDirectory(above: path) != nil
        }
        return !FileManager.default.isReadableFile(atPath: path)
    }

    private static func closedDirectory(above path: String) -> String? {
        let parent = path.split(separator: "/").dropLast().joined(separator: "/")
        let directory = path.hasPrefix("/") ? "/\(parent)" : parent
        guard !parent.isEmpty else { return nil }
        guard FileManager.default.fileExists(atPath: directory) else {
            return closedDirectory(above: directory)
        }
        return FileManager.default.isExecutableFile(atPath: directory) ? nil : directory
    }
}
