package import NetproxyEventIO
import NetproxySystem

/// A directory named by a configuration key.
package enum ConfiguredDirectory {
    /// Creates the directory and missing parent directories.
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
