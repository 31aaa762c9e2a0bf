import NetproxySystem
public import NetworkCore

/// Stores the tokens of a grant family in a file, which several processes may share.
///
/// `FAMILY.json` (0600) is replaced by the steps of `FileReplacement`. `FAMILY.lock` carries an
/// advisory lock (`flock`), which has no lease and ends with its process. `FAMILY.revisions` has the
/// highest revisions used here, by which an older copy of the file is recognized. Symbolic links are
/// refused, and so are files that another user could have written. A corrupt file is set aside, not
/// treated as "signed out" and overwritten; the last few corrupt files are kept.
///
/// Methods leave the caller's actor, and block for the time of a disk write.
public struct FileTokenStore: TokenStoring {
    /// The largest accepted file.
    private static let limit = 1 << 20
    /// The time between two attempts to take the lock.
    private static let lockInterval = Duration.milliseconds(20)
    /// The number of corrupt files to keep.
    private static let asideLimit = 4

    private let directory: String
    private let path: String
    private let lockPath: String
    private let highest: RevisionFile
    private let clock: any NetworkClock
    private let family: String
    private let seal: TokenSeal?

    /// Names the file; nothing is opened yet.
    ///
    /// - Parameters:
    ///   - directory: where the files are; created (0700) if it is missing.
    ///   - family: the name of the grant family; bytes not allowed in a file name are encoded.
    ///   - seal: encrypts the file; an unencrypted file is read too.
    ///   - clock: dates the names of corrupt files.
    public init(
        directory: String,
        family: String,
        seal: TokenSeal? = nil,
        clock: any NetworkClock = SystemClock()
    ) {
        let name = FamilyName.encoded(family)
        self.directory = directory
        path = "\(directory)/\(name).json"
        lockPath = "\(directory)/\(name).lock"
        highest = RevisionFile(in: directory, family: family)
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

    /// Returns the highest revisions of the sessions used here.
    public func revisions() async -> [String: Int] { await highest.read() }

    /// Keeps the highest revisions.
    public func keepRevisions(_ revisions: [String: Int]) async {
        await highest.write(revisions)
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
    ///   this process may not open, or without a free descriptor.
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
            switch try read() {
            case .missing: return .none
            case .unsuitable: return .some(nil)
            case .bytes(let bytes): return .some(bytes)
            // Left in place: an operator can tell whether it is an attack or a slip.
            case .untrusted(let objection):
                throw TokenStoreError.unreadable("\(path): \(objection)")
            }
        } catch let error as TokenStoreError {
            throw error
        } catch let error as FileError {
            throw translated(error)
        }
    }

    private func translated(_ error: FileError) -> TokenStoreError {
        // The file exists but cannot be opened by this process, or not now: another process may have
        // stored tokens in it.
        error.isSymbolicLink || error.isForbidden || error.isExhaustion
            ? .unreadable(words(error)) : .unavailable(words(error))
    }

    /// The kind of file at the path.
    private enum Found {
        case missing
        /// Too long, or not a regular file.
        case unsuitable
        /// Another user may have written it, for this reason.
        case untrusted(String)
        case bytes([UInt8])
    }

    private func read() throws(FileError) -> Found {
        let file: FileDescriptor
        do {
            file = try FileDescriptor(path, .read)
        } catch let error where error.isMissing {
            return .missing
        }
        let status = try file.status()
        guard status.isRegular else { return .unsuitable }
        if let objection = FileTrust.objection(to: status, in: directory) {
            return .untrusted(objection)
        }
        return try file.readAll(upTo: Self.limit).map { .bytes($0) } ?? .unsuitable
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
        let target = nameAside
        try translated { () throws(FileError) in
            try FileSystem.rename(path, to: target)
            try FileSystem.synchronizeDirectory(directory)
        }
        limitAside()
        return target
    }

    /// A unique name, so that files set aside before are never overwritten.
    private var nameAside: String {
        let mark = String(UInt32.random(in: .min ... .max), radix: 36)
        return "\(path).corrupt-\(Int64(clock.wallNow.secondsSinceEpoch))-\(mark)"
    }

    /// Removes the oldest corrupt files: a disk that fails repeatedly must not fill up with them.
    private func limitAside() {
        let start = "\(path).corrupt-"
        do throws(FileError) {
            let names = try FileSystem.names(in: directory).map { "\(directory)/\($0)" }
            let aside = names.filter { $0.hasPrefix(start) }.sorted()
            for name in aside.dropLast(Self.asideLimit) { try FileSystem.remove(name) }
        } catch {
            // The next one tries again.
        }
    }

    /// Replaces the file.
    ///
    /// A file that the disk cannot read gets another name, since the new record is at least as new.
    ///
    /// - Throws: `TokenStoreError.conflict`, `.unavailable`.
    @concurrent public func save(_ record: TokenRecord, replacing revision: Int) async throws {
        let isDamaged = isDamaged
        if !isDamaged { try await requireRevision(revision) }
        let plain = try TokenFile.encode(record)
        var replacement = FileReplacement(
            path: path,
            content: try seal?.seal(plain, family: family) ?? plain
        )
        if isDamaged { replacement.damagedName = nameAside }
        try translated { [replacement] () throws(FileError) in try replacement.run() }
        if isDamaged { limitAside() }
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

    /// The families that have a file in a directory, in order; none without the directory.
    ///
    /// - Throws: `TokenStoreError.unavailable`.
    package static func families(in directory: String) throws(TokenStoreError) -> [String] {
        do {
            return try FileSystem.names(in: directory).filter { $0.hasSuffix(".json") }
                .compactMap { FamilyName.family(named: String($0.dropLast(".json".count))) }
                .sorted()
        } catch {
            if error.isMissing { return [] }
            throw .unavailable(error.description)
        }
    }
}
