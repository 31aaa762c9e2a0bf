public import NetworkCore
import System

/// Stores the tokens of a grant family in a file, which several processes may share.
///
/// `FAMILY.json` (0600) is replaced atomically: temporary file, fsync, rename, fsync of the directory.
/// `FAMILY.lock` carries an advisory lock (`flock`), which has no lease and ends with its process.
/// Symbolic links are refused. A corrupt file is set aside, never taken for "signed out" and
/// overwritten.
///
/// All work runs on the global executor, never on a caller's event loop.
public struct FileTokenStore: TokenStoring {
    /// The longest file that is read.
    private static let limit = 1 << 20
    /// The time between two attempts to take a lock that is held.
    private static let lockInterval = Duration.milliseconds(20)

    private let directory: String
    private let path: String
    private let lockPath: String
    private let clock: any NetworkClock
    private let family: String
    private let seal: TokenSeal?

    /// Names the file; nothing is opened yet.
    ///
    /// - Parameters:
    ///   - directory: where the files are; created (0700) if it is missing.
    ///   - family: the name of the grant family; bytes not allowed in a file name are encoded.
    ///   - seal: encrypts the file; a file that is not encrypted is read all the same.
    ///   - clock: dates the names of files that are set aside.
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

    /// Takes the lock; waits by trying again, so that no thread is blocked.
    ///
    /// - Throws: `TokenStoreError.locked` at the deadline, `.unavailable`, `.unreadable` without a free
    ///   descriptor, `CancellationError`.
    @concurrent public func lock(
        until deadline: ContinuousClock.Instant,
        clock: any NetworkClock
    ) async throws -> TokenStoreLock {
        while true {
            if let lock = try translated({ () throws(FileError) in try attempt() }) {
                return TokenStoreLock {
                    // Closing the file, with the last reference, releases the lock in any case.
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
    /// - Throws: `TokenStoreError.corrupt` after setting aside a corrupt file, which requires the lock;
    ///   `.unavailable`; `.unreadable` for a file that another key or a later version has written, that
    ///   this process may not open, or that there is no free descriptor for.
    @concurrent public func load(under lock: TokenStoreLock?) async throws -> TokenRecord? {
        try content().map { content in
            if let plain = try content.map(open) {
                if let record = TokenFile.decode(plain) { return record }
                // Left in place for the version that can read it.
                guard !TokenFile.isOfLaterVersion(plain) else {
                    throw TokenStoreError.unreadable(
                        "\(path) was written by a later netproxy version; it is left unchanged"
                    )
                }
            }
            guard lock != nil else { throw TokenStoreError.unavailable("\(path) cannot be parsed") }
            throw TokenStoreError.corrupt(movedTo: try setAside())
        }
    }

    private func content() throws -> [UInt8]?? {
        do {
            return try read()
        } catch let error where error.isSymbolicLink || error.isForbidden || error.isExhaustion {
            // The file exists but cannot be opened by this process, or not now: another process may have
            // stored tokens in it.
            throw TokenStoreError.unreadable(words(error))
        } catch {
            throw TokenStoreError.unavailable(words(error))
        }
    }

    /// Returns the content, or an inner `nil` if it is too long or not a regular file.
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

    /// Decrypts the content.
    ///
    /// A file that another key has encrypted is left unchanged for that key, and never taken for
    /// "signed out" and overwritten.
    private func open(_ content: [UInt8]) throws -> [UInt8] {
        do {
            return try TokenSeal.open(content, family: family, with: seal)
        } catch {
            throw TokenStoreError.unreadable("\(path): \(error)")
        }
    }

    private func setAside() throws -> String {
        // A unique name, so that files set aside before are never overwritten.
        let mark = String(UInt32.random(in: .min ... .max), radix: 36)
        let target = "\(path).corrupt-\(Int64(clock.wallNow.secondsSinceEpoch))-\(mark)"
        try translated { () throws(FileError) in
            try FileSystem.rename(path, to: target)
            try FileSystem.synchronizeDirectory(directory)
        }
        return target
    }

    /// Replaces the file; one that the disk can no longer read is set aside, since what is stored now is
    /// at least as new.
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

    /// Whether the file exists and its content is lost (EIO).
    private var isDamaged: Bool {
        do {
            _ = try read()
            return false
        } catch {
            return error.isDamage
        }
    }

    private func replace(with content: [UInt8]) throws(FileError) {
        // A fixed name, written under the lock: the next save removes what a crash left.
        let temporary = "\(path).tmp"
        try FileSystem.remove(temporary)
        do {
            let file = try FileDescriptor(temporary, .createPrivate)
            try file.writeAll(content)
            try file.synchronize()
            try FileSystem.rename(temporary, to: path)
        } catch {
            // The first error is the one to report; the next save removes what stays.
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
            // The disk works, and another process may have been able to write.
            throw TokenStoreError.unreadable(words(error))
        } catch {
            throw TokenStoreError.unavailable(words(error))
        }
    }

    private func words(_ error: FileError) -> String {
        error.isSymbolicLink
            ? "\(error.path ?? path) is a symbolic link" : error.description
    }

    /// Returns the family with letters, digits, `-`, `_` and inner dots unchanged, the rest as `%XX`.
    private static func fileName(_ family: String) -> String {
        let encoded = FormEncoding.encode(family).replacing("*", with: "%2A")
        return encoded.hasPrefix(".") ? "%2E" + encoded.dropFirst() : encoded
    }
}
