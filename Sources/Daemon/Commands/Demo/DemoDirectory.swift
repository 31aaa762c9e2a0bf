import FoundationEssentials
import NetproxyConfig
import NetproxyEventIO
package import NetproxySystem

/// The directory of a demo, in which commands of the same user find its configuration.
///
/// Its path is `netproxy-demo-UID` in `$XDG_RUNTIME_DIR`, `$TMPDIR` or `/tmp`. Its lock shows whether the
/// demo is running: the system releases the lock when the process ends, for any reason.
package struct DemoDirectory: Sendable {
    /// The absolute path.
    package let path: String
    private let lock: FileLock

    /// The configuration with which commands reach the demo.
    package var configuration: String { DemoDirectory.configuration(in: path) }

    /// Makes the directory that commands search, or a separate one if another demo of this user is using it.
    ///
    /// Removes the files of a killed demo.
    ///
    /// - Throws: the `FileError` of the last candidate.
    package static func make(_ environment: [String: String]) throws -> DemoDirectory {
        try make(environment, named: name) ?? makeOwn(environment)
    }

    /// Makes a directory that commands do not search.
    package static func makeOwn(_ environment: [String: String]) throws -> DemoDirectory {
        let process = ProcessInfo.processInfo.processIdentifier
        let own = "\(name)-\(process)-\(Int.random(in: 0..<1 << 30))"
        guard let directory = try make(environment, named: own) else {
            throw IOError.system("\(own) is in use by another process")
        }
        return directory
    }

    /// Returns the configuration of a running demo of this user.
    package static func running(_ environment: [String: String]) -> String? {
        for base in bases(environment) {
            let path = "\(base)/\(name)"
            guard FileTrust.isPrivateDirectory(path),
                FileManager.default.fileExists(atPath: configuration(in: path)),
                FileManager.default.fileExists(atPath: lock(in: path))
            else { continue }
            do throws(FileError) {
                guard let stale = try FileLock.attempt(lock(in: path)) else {
                    return configuration(in: path)
                }
                try stale.release()
            } catch {
                // The demo has just removed its directory.
                continue
            }
        }
        return nil
    }

    /// Writes the configuration; commands cannot find the demo before.
    package func publish(_ text: String) throws(FileError) {
        // Rename a complete file, because commands may read it at any time.
        let draft = "\(path)/draft"
        try FileSystem.remove(draft)
        try FileDescriptor(draft, .createPrivate).writeAll(Array(text.utf8))
        try FileSystem.rename(draft, to: configuration)
    }

    /// Removes the directory and its contents.
    package func remove() {
        do throws(FileError) {
            // Remove this file first, so that no command contacts a demo that is shutting down.
            try FileSystem.remove(configuration)
            try DemoDirectory.clear(path)
            try FileSystem.remove(DemoDirectory.lock(in: path))
            try FileSystem.removeDirectory(path)
            try lock.release()
        } catch {
            // Another demo is using the directory already, or a user has removed it.
        }
    }

    /// Releases the lock and leaves the directory behind, like a killed process.
    package func abandon() throws(FileError) {
        try lock.release()
    }

    private static func make(
        _ environment: [String: String],
        named name: String
    ) throws -> DemoDirectory? {
        var failure = FileError("mkdir", "/tmp/\(name)", code: 0)
        for base in bases(environment) {
            let path = "\(base)/\(name)"
            guard "\(path)/admin.sock".utf8.count <= ListenAddress.longestPath else { continue }
            do throws(FileError) {
                try FileSystem.makeDirectory(path, mode: 0o700)
                // Another user may have made the directory so that we read their files.
                guard FileTrust.isPrivateDirectory(path) else { continue }
                guard let lock = try FileLock.attempt(lock(in: path)) else { return nil }
                try clear(path)
                return DemoDirectory(path: path, lock: lock)
            } catch {
                failure = error
            }
        }
        throw failure
    }

    /// Removes everything but the lock.
    private static func clear(_ path: String) throws(FileError) {
        for name in try FileSystem.names(in: path) where "\(path)/\(name)" != lock(in: path) {
            try? FileManager.default.removeItem(atPath: "\(path)/\(name)")
        }
    }

    private static var name: String { "netproxy-demo-\(FileTrust.user)" }
    private static func configuration(in path: String) -> String { "\(path)/netproxy.yaml" }
    private static func lock(in path: String) -> String { "\(path)/lock" }

    /// Returns the existing directories to search.
    private static func bases(_ environment: [String: String]) -> [String] {
        [environment["XDG_RUNTIME_DIR"], environment["TMPDIR"], "/tmp"].compactMap { base in
            guard let base = DefaultDirectories.absolute(base) else { return nil }
            var isDirectory = false
            let exists = FileManager.default.fileExists(atPath: base, isDirectory: &isDirectory)
            return exists && isDirectory ? base : nil
        }
    }
}
