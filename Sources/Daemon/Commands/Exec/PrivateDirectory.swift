import FoundationEssentials
import NetproxyConfig
import NetproxySystem

/// The directory of a private instance's logs and state, in `$XDG_RUNTIME_DIR`, `$TMPDIR` or `/tmp`.
///
/// Its lock shows whether the instance is running; the next instance removes the files of a killed one.
struct PrivateDirectory: Sendable {
    let path: String
    private let lock: FileLock

    /// Makes a directory.
    ///
    /// - Throws: the `FileError` of the last candidate.
    static func make(_ environment: [String: String]) throws -> PrivateDirectory {
        var failure = FileError("mkdir", "/tmp/\(prefix)", code: 0)
        for base in ["XDG_RUNTIME_DIR", "TMPDIR"].map({ environment[$0] }) + ["/tmp"] {
            guard let base = DefaultDirectories.absolute(base),
                FileManager.default.fileExists(atPath: base)
            else { continue }
            sweep(base)
            let path = "\(base)/\(prefix)\(UInt32.random(in: .min ... .max))"
            do throws(FileError) {
                try FileSystem.makeDirectory(path, mode: 0o700)
                // Another user may have made the directory.
                guard FileTrust.isPrivateDirectory(path) else { continue }
                guard let lock = try FileLock.attempt("\(path)/lock") else { continue }
                return PrivateDirectory(path: path, lock: lock)
            } catch {
                failure = error
            }
        }
        throw failure
    }

    /// Removes the directory and its contents.
    func remove() {
        PrivateDirectory.remove(path)
        do throws(FileError) { try lock.release() } catch {
            // The lock's file is removed.
        }
    }

    private static var prefix: String { "netproxy-exec-\(FileTrust.user)-" }

    private static func remove(_ path: String) {
        // A user may have removed it.
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Removes the directories of killed instances.
    private static func sweep(_ base: String) {
        do throws(FileError) {
            for name in try FileSystem.names(in: base) where name.hasPrefix(prefix) {
                let path = "\(base)/\(name)"
                // An instance creates its lock after its directory.
                guard FileTrust.isPrivateDirectory(path),
                    FileManager.default.fileExists(atPath: "\(path)/lock"),
                    let stale = try FileLock.attempt("\(path)/lock")
                else { continue }
                remove(path)
                try stale.release()
            }
        } catch {
            // Another instance is removing the same directory.
        }
    }
}
