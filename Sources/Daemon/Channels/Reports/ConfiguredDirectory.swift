package import NetproxyEventIO
import NetproxySystem

/// A directory that a key of the configuration names.
package enum ConfiguredDirectory {
    /// Makes the directory, with the missing ones above it.
    ///
    /// - Throws: an error that begins with the key.
    package static func make(_ path: String, mode: UInt32, for key: String) throws(IOError) {
        do {
            try FileSystem.makeDirectory(path, mode: mode)
        } catch {
            throw .system("\(key): \(error)")
        }
    }
}
