import FoundationEssentials
import NetproxyConfig
import NetproxyEventIO
package import NetproxySystem

/// The directory of a demo, in which the commands of the same user find its configuration.
///
/// It is `netproxy-demo-UID` in `$XDG_RUNTIME_DIR`, `$TMPDIR` or `/tmp`. Whether the demo still runs is
/// told by its lock, which ends with the process, however that ends.
package struct DemoDirectory: Sendable {
    /// The absolute path.
    package let path: String
    private let lock: FileLock

    /// The configuration with which commands reach the demo.
    package var configuration: String { DemoDirectory.configuration(in: path) }

    /// Makes the directory that commands look into, or one beside it if another demo of this user has it.
    ///
    /// What a demo that was killed has left there is removed.
    ///
    /// - Throws: `FileError` of the last place that was tried.
    package static func make(_ environment: [String: String]) throws -> DemoDirectory {
        try make(environment, named: name) ?? makeOwn(environment)
    }

    /// Makes a directory that commands do not look into.
    package static func makeOwn(_ environment: [String: String]) throws -> DemoDirectory {
        let process = ProcessInfo.processInfo.processIdentifier
        let own = "\(name)-\(process)-\(Int.random(in: 0..<1 << 30))"
        guard let directory = try make(environment, named: own) else {
            throw IOError.system("\(own) is in use by another process")
        }
        return directory
    }

    /// The configuration of a running demo of this user.
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
                // Removed just now, together with its demo.
                continue
            }
        }
        return nil
    }

    /// Tells commands of the demo; before that they do not find it.
    package func publish(_ text: String) throws(FileError) {
        // In one step: commands read it at any time.
        let draft = "\(path)/draft"
        try FileSystem.remove(draft)
        try FileDescriptor(draft, .createPrivate).writeAll(Array(text.utf8))
        try FileSystem.rename(draft, to: configuration)
    }

    /// Removes the directory with all that is in it.
    package func remove() {
        do throws(FileError) {
            // First, so that no command begins to ask a demo that is leaving.
            try FileSystem.remove(configuration)
            try DemoDirectory.clear(path)
            try FileSystem.remove(DemoDirectory.lock(in: path))
            try FileSystem.removeDirectory(path)
            try lock.release()
        } catch {
            // Another demo is in it already, or it was removed by hand.
        }
    }

    /// Ends the lock and leaves the directory behind, as a process does that is killed.
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
                // Others may have made it, to have us read what they write.
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

    /// The directories to look into, those that exist.
    private static func bases(_ environment: [String: String]) -> [String] {
        [environment["XDG_RUNTIME_DIR"], environment["TMPDIR"], "/tmp"].compactMap { base in
            guard let base = DefaultDirectories.absolute(base) else { return nil }
            var isDirectory = false
            let exists = FileManager.default.fileExists(atPath: base, isDirectory: &isDirectory)
            return exists && isDirectory ? base : nil
        }
    }
}
