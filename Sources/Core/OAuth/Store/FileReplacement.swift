import NetproxySystem

/// Puts a new token file in the place of another in one step, so that whatever happens one of them is
/// there whole.
///
/// The order is the point: the new content is on the medium before anything is done to the file it
/// replaces, and the new name before anyone is told.
struct FileReplacement {
    /// One step; each blocks.
    enum Step: Equatable {
        /// Removes what a crash left of an earlier replacement.
        case removeLeftover
        /// Writes the content to the temporary file, which only its owner may read.
        case write
        /// Waits until that is on the medium: renamed before, it could be empty after a power failure.
        case synchronizeFile
        /// Gives the file that cannot be read any more another name beside its own.
        case keepDamaged(as: String)
        /// Gives the temporary file the name.
        case rename
        /// Waits until the directory is on the medium.
        case synchronizeDirectory
    }

    /// The file that is replaced.
    let path: String
    /// What it will contain.
    let content: [UInt8]
    /// Another name for a file that cannot be read any more; `nil` for one in order.
    var damagedName: String?

    private var temporary: String { "\(path).tmp" }
    private var directory: String { String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]) }

    /// The steps, in order.
    var steps: [Step] {
        let keeping = damagedName.map { [Step.keepDamaged(as: $0)] } ?? []
        return [.removeLeftover, .write, .synchronizeFile] + keeping
            + [.rename, .synchronizeDirectory]
    }

    /// Takes all steps; after a failure nothing temporary is left.
    func run() throws(FileError) {
        do {
            for step in steps { try perform(step) }
        } catch {
            // The first error is the one to report; the next replacement removes what stays.
            do { try FileSystem.remove(temporary) } catch {}
            throw error
        }
    }

    /// Takes one step.
    func perform(_ step: Step) throws(FileError) {
        switch step {
        case .removeLeftover: try FileSystem.remove(temporary)
        case .write: try FileDescriptor(temporary, .createPrivate).writeAll(content)
        case .synchronizeFile: try FileDescriptor(temporary, .read).synchronize()
        case .keepDamaged(let name):
            // A second name, so that there is no moment without a file. Its content is lost in any case,
            // and what replaces it is at least as new.
            do { try FileSystem.link(path, as: name) } catch {}
        case .rename: try FileSystem.rename(temporary, to: path)
        case .synchronizeDirectory: try FileSystem.synchronizeDirectory(directory)
        }
    }
}
