package import System

/// The names of the files beside each other in the log directory.
package enum LogDirectory {
    /// The log for requests that no channel claims and for netproxy's own events.
    package static let ownLog = "netproxy"

    /// The path of a channel's log.
    package static func path(of channel: String, in directory: String) -> String {
        directory.hasSuffix("/") ? "\(directory)\(channel).log" : "\(directory)/\(channel).log"
    }

    /// The channels that have a log, in alphabetical order, also those that have a rotated one only;
    /// none while there is no directory, which the daemon makes when it starts.
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

    /// Makes the directory and those above it, with mode 0750, where they do not exist.
    ///
    /// - Throws: `FileError`, whose description names the directory and says why.
    package static func create(_ directory: String) throws(FileError) {
        try FileSystem.makeDirectory(directory, mode: 0o750)
    }
}
