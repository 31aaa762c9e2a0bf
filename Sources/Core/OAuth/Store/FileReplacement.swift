import NetproxySystem

/// Replaces a token file in one step, so that one of the two is always complete.
///
/// The order matters: the new content is on the medium before the old file is touched, and the new name
/// before the call returns.
struct FileReplacement {
    /// One step; each blocks.
    enum Operation: Equatable {
        /// Removes the remains of an earlier replacement that crashed.
        case removeLeftover
        /// Writes the content to the temporary file, which only its owner may read.
        case write
        /// Waits until the file is on the medium: renamed earlier, it could be empty after a power
        /// failure.
        case synchronizeFile
        /// Gives the file that cannot be read any more another name beside its own.
        case keepDamaged(as: String)
        /// Gives the temporary file the name.
        case rename
        /// Waits until the directory is on the medium.
        case synchronizeDirectory
    }

    /// The replaced file.
    let path: String
    /// The new content.
    let content: [UInt8]
    /// Another name for a file that cannot be read any more; `nil` for one in order.
    var damagedName: String?

    private var temporary: String { "\(path).tmp" }
    private var directory: String { String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]) }

    /// The steps, in order.
    var steps: [Operation] {
        let keeping = damagedName.map { [Operation.keepDamaged(as: $0)] } ?? []
        return [.removeLeftover, .write, .synchronizeFile] + keeping
            + [.rename, .synchronizeDirectory]
    }

    /// Takes all steps; after a failure nothing temporary is left.
    func run() throws(FileError) {
        do {
            for step in steps { try perform(step) }
        } catch {
            // The first error is reported; the next replacement removes the remains.
            do { try FileSystem.remove(temporary) } catch {}
            throw error
        }
    }

    /// Takes one step.
    func perform(_ step: Operation) throws(FileError) {
        switch step {
        case .removeLeftover: try FileSystem.remove(temporary)
        case .write: try FileDescriptor(temporary, .createPrivate).writeAll(content)
        case .synchronizeFile: try FileDescriptor(temporary, .read).synchronize()
        case .keepDamaged(let name):
            // A second name, so that a file exists at every moment. The old content is lost in any
            // case, and the new one is at least as new.
            do { try FileSystem.link(path, as: name) } catch {}
        case .rename: try FileSystem.rename(temporary, to: path)
        case .synchronizeDirectory: try FileSystem.synchronizeDirectory(directory)
        }
    }
}
