package import NetproxySystem

/// The names of the files in the log directory.
package enum LogDirectory {
    /// Returns the path of a channel's log.
    package static func path(of channel: String, in directory: String) -> String {
        directory.hasSuffix("/") ? "\(directory)\(channel).log" : "\(directory)/\(channel).log"
    }

    /// Returns the channels with a log, in alphabetical order, including those with only a rotated one.
    ///
    /// Empty if the directory does not exist: the daemon creates it when it starts.
    package static func channels(in directory: String) throws(FileError) -> [String] {
        let names: [String]
        do throws(FileError) {
            names = try FileSystem.names(in: directory)
        } catch  where error.isMissing {
            return []
        }
        let files = names.map { $0.hasSuffix(".1") ? $0.dropLast(2) : $0[...] }
        return Set(files.filter { $0.hasSuffix(".log") && $0.count > 4 }.map { $0.dropLast(4) })
            .map(String.init)
            .sorted()
    }

    /// Creates the directory and its parents with mode 0750, unless they exist.
    ///
    /// - Throws: `FileError`, whose description names the directory and the reason.
    package static func create(_ directory: String) throws(FileError) {
        try FileSystem.makeDirectory(directory, mode: 0o750)
    }
}
