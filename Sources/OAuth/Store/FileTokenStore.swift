public import NetworkCore
import System

/// Keeps the tokens of a grant family in a file of its own, which several processes may share.
///
/// `FAMILY.json` (0600) is replaced in one step: a temporary file beside it, fsync, rename, fsync of
/// the directory. `FAMILY.lock` carries an advisory lock (`flock`), which has no lease and ends with
/// its process. Symbolic links are refused. A file that makes no sense is set aside, never taken for
/// "signed out" and overwritten.
///
/// All work runs on the global executor, never on a caller's event loop.
public struct FileTokenStore: TokenStoring {
    /// The longest file that is read.
    private static let limit = 1 << 20
    /// How long to wait between two looks at a lock that somebody holds.
    private static let lockInterval = Duration.milliseconds(20)

    private let directory: String
    private let path: String
    private let lockPath: String
    private let clock: any NetworkClock
    private let family: String
    private let seal: TokenSeal?

    /// Names the file; nothing is touched yet.
    ///
    /// - Parameters:
    ///   - directory: where the files are; made (0700) if it is missing.
    ///   - family: the name of the grant family; bytes that are unfit for a file name are encoded.
    ///   - seal: what files are written with; one that was written plain is read all the same.
    ///   - clock: names files that are set aside.
    public init(
        directory: String,
        family: String,
        seal: TokenSeal? = nil,
        clock: any NetworkClock = SystemClock()
    ) {
        let name = FileTokenStore.fileName(family)
        self.directory = directory
        path = "\(directory)/\(name).json"
        lockPath = "\(directory)/\(name).lock"
        self.clock = clock
        self.family = family
        self.seal = seal
    }

    /// Takes the lock; waits by looking again, so that no thread stands still.
    ///
    /// - Throws: `TokenStoreError.locked` at the deadline, `.unavailable`, `.unreadable` for want of
    ///   descriptors, `CancellationError`.
    @concurrent public func lock(
        until deadline: ContinuousClock.Instant,
        clock: any NetworkClock
    ) async throws -> TokenStoreLock {
        while true {
            if let lock = try translated({ () throws(FileError) in try attempt() }) {
                return TokenStoreLock {
                    // Closing the file, with the last reference, ends the lock in any case.
                    do { try lock.release() } catch {}
                }
            }
            let next = clock.now + Self.lockInterval
            guard next < deadline else { throw TokenStoreError.locked(lockPath) }
            try await clock.sleep(until: next)
        }
    }

    private func attempt() throws(FileError) -> FileLock? {
        do {
            return try FileLock.attempt(lockPath)
        } catch let error where error.isMissing {
            try FileSystem.makeDirectory(directory, mode: 0o700)
            return try FileLock.attempt(lockPath)
        }
    }

    /// Reads the file.
    ///
    /// - Throws: `TokenStoreError.corrupt` after setting aside a file that makes no sense, which
    ///   needs the lock; `.unavailable`; `.unreadable` for what another key or a later version has
    ///   written, and for a file that this process may not open, or has no descriptor for.
    @concurrent public func load(under lock: TokenStoreLock?) async throws -> TokenRecord? {
        try content().map { content in
            if let plain = try content.map(open) {
                if let record = TokenFile.decode(plain) { return record }
                // Left where it is, for the version that understands it.
                guard !TokenFile.isOfLaterVersion(plain) else {
                    throw TokenStoreError.unreadable(
                        "\(path) was written by a later netproxy and is not understood; it is left "
                            + "as it is"
                    )
                }
            }
            guard lock != nil else { throw TokenStoreError.unavailable("\(path) makes no sense") }
            throw TokenStoreError.corrupt(movedTo: try setAside())
        }
    }

    private func content() throws -> [UInt8]?? {
        do {
            return try read()
        } catch let error where error.isSymbolicLink || error.isForbidden || error.isExhaustion {
            // It is there, and not for this process, or not now: in it may be what somebody else put
            // there.
            throw TokenStoreError.unreadable(words(error))
        } catch {
            throw TokenStoreError.unavailable(words(error))
        }
    }

    /// The content; an inner nothing if it is too long or no regular file.
    private func read() throws(FileError) -> [UInt8]?? {
        let file: FileDescriptor
        do {
            file = try FileDescriptor(path, .read)
        } catch let error where error.isMissing {
            return .none
        }
        guard try file.status().isRegular else { return .some(nil) }
        return .some(try file.readAll(upTo: Self.limit))
    }

    /// What cannot be opened now can be once the right key is configured: it is left where it is, and
    /// never taken for "signed out" or written over.
    private func open(_ content: [UInt8]) throws -> [UInt8] {
        do {
            return try TokenSeal.open(content, family: family, with: seal)
        } catch {
            throw TokenStoreError.unreadable("\(path): \(error)")
        }
    }

    private func setAside() throws -> String {
        // A name of its own, so that what was set aside before is never written over.
        let mark = String(UInt32.random(in: .min ... .max), radix: 36)
        let target = "\(path).corrupt-\(Int64(clock.wallNow.secondsSinceEpoch))-\(mark)"
        try translated { () throws(FileError) in
            try FileSystem.rename(path, to: target)
            try FileSystem.synchronizeDirectory(directory)
        }
        return target
    }

    /// Replaces the file; one that the medium does not give back any more is set aside: nobody can
    /// know anything newer than what is stored now.
    ///
    /// - Throws: `TokenStoreError.conflict`, `.unavailable`.
    @concurrent public func save(_ record: TokenRecord, replacing revision: Int) async throws {
        if isDamaged {
            _ = try setAside()
        } else {
            try await requireRevision(revision)
        }
        let plain = try TokenFile.encode(record)
        let content = try seal?.seal(plain, family: family) ?? plain
        try translated { () throws(FileError) in try replace(with: content) }
    }

    private func requireRevision(_ revision: Int) async throws {
        guard try await load()?.revision ?? 0 == revision else { throw TokenStoreError.conflict }
    }

    /// Whether the file is there and its content is lost (EIO).
    private var isDamaged: Bool {
        do {
            _ = try read()
            return false
        } catch {
            return error.isDamage
        }
    }

    private func replace(with content: [UInt8]) throws(FileError) {
        // One name, written under the lock: what a crash left behind goes with the next save.
        let temporary = "\(path).tmp"
        try FileSystem.remove(temporary)
        do {
            let file = try FileDescriptor(temporary, .createPrivate)
            try file.writeAll(content)
            try file.synchronize()
            try FileSystem.rename(temporary, to: path)
        } catch {
            // The first error is the one to tell; what stays goes with the next save.
            do { try FileSystem.remove(temporary) } catch {}
            throw error
        }
        try FileSystem.synchronizeDirectory(directory)
    }

    /// Removes the file.
    ///
    /// - Throws: `TokenStoreError.conflict`, `.unavailable`.
    @concurrent public func remove(revision: Int) async throws {
        try await requireRevision(revision)
        try translated { () throws(FileError) in
            try FileSystem.remove(path)
            try FileSystem.synchronizeDirectory(directory)
        }
    }

    private func translated<Value>(_ body: () throws(FileError) -> Value) throws -> Value {
        do {
            return try body()
        } catch let error where error.isExhaustion {
            // The medium is sound, and whoever has room on it may have written.
            throw TokenStoreError.unreadable(words(error))
        } catch {
            throw TokenStoreError.unavailable(words(error))
        }
    }

    private func words(_ error: FileError) -> String {
        error.isSymbolicLink
            ? "\(error.path ?? path) is a symbolic link" : error.description
    }

    /// Letters, digits, `-`, `_` and inner dots as they are, anything else as `%XX`.
    private static func fileName(_ family: String) -> String {
        let encoded = FormEncoding.encode(family).replacing("*", with: "%2A")
        return encoded.hasPrefix(".") ? "%2E" + encoded.dropFirst() : encoded
    }
}
