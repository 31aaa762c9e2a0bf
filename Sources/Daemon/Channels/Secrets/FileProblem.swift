import FoundationEssentials
package import NetproxyConfig
import NetproxySystem

/// The reason why a configured file cannot be used, as a sentence for the operator.
package enum FileProblem {
    /// Returns `cannot read /x: there is no such file`, or another reason.
    ///
    /// If permissions are missing, the sentence contains a command that grants them.
    package static func unusable(_ path: String) -> String {
        let problem = unreadable(path)
        guard isDenied(path) else { return problem }
        let remedy =
            closedDirectory(above: path).map(ReadRemedy.entering) ?? ReadRemedy.reading(path)
        return remedy.map { "\(problem); fix: \($0)" } ?? problem
    }

    /// Returns `cannot read /x: there is no such file`, or another reason.
    package static func unreadable(_ path: String) -> String {
        var isDirectory = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            // Without access to its directory, an existing file seems to be missing.
            if let closed = closedDirectory(above: path) {
                return "cannot read \(path): \(denied) in \(closed)"
            }
            return "cannot read \(path): there is no such file"
        }
        if isDirectory { return "cannot read \(path): it is a directory" }
        guard FileManager.default.isReadableFile(atPath: path) else {
            return "cannot read \(path): \(denied)"
        }
        return "cannot read \(path)" + (reason(path).map { ": \($0)" } ?? "")
    }

    package static func notPEM(_ path: String) -> String? {
        guard let contents = FileManager.default.contents(atPath: path) else {
            return unusable(path)
        }
        return String(decoding: contents, as: UTF8.self).contains("-----BEGIN ")
            ? nil : "\(path) is not a PEM file"
    }

    package static func tooLarge(_ path: String, limit: ByteCount) -> String? {
        guard let contents = FileManager.default.contents(atPath: path) else {
            return unusable(path)
        }
        return contents.count > limit.bytes ? "\(path) is larger than \(limit)" : nil
    }

    private static var denied: String { "permission denied for user \(UserAccount.current.name)" }

    /// Returns a problem if the path is not a directory; the start creates a missing one.
    package static func notDirectory(_ path: String) -> String? {
        var isDirectory = false
        let exists = FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
        return exists && !isDirectory ? "\(path) is not a directory" : nil
    }

    /// Whether this user has no permission to read a file that exists or may exist.
    package static func isDenied(_ path: String) -> Bool {
        guard FileManager.default.fileExists(atPath: path) else {
            return closedDirectory(above: path) != nil
        }
        return !FileManager.default.isReadableFile(atPath: path)
    }

    /// Returns the system's error for a read.
    private static func reason(_ path: String) -> String? {
        do throws(FileError) {
            _ = try ReadableFile(path: path).read(1, at: 0)
            return nil
        } catch {
            return error.reason
        }
    }

    /// Returns the nearest existing directory above, if this user may not enter it.
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
