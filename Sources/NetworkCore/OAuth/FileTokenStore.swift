import Bytes
import FoundationEssentials
import Synchronization

/// Keeps the tokens of a grant family in a file that several processes share: written aside,
/// flushed, renamed; readable for its owner only; under a lock on a file beside it.
public final class FileTokenStore: TokenStoring {
    private static let sizeLimit = 1 << 20
    private let path: String
    private let clock: any NetworkClock
    private let onCorrupt: @Sendable (String) -> Void

    /// Makes a store; the file appears with the first token.
    ///
    /// - Parameters:
    ///   - directory: where the file is; it must be writable for this user.
    ///   - family: the file's name, without its ending.
    ///   - clock: paces the wait for the lock.
    ///   - onCorrupt: told where a file that cannot be read was set aside.
    public init(
        directory: String,
        family: String,
        clock: any NetworkClock = SystemClock(),
        onCorrupt: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        path = "\(directory)/\(family).json"
        self.clock = clock
        self.onCorrupt = onCorrupt
    }

    /// What the file holds; nothing if there is none.
    @concurrent
    public func read() async throws -> StoredGrant? { try load(setsAside: false) }

    /// Takes the lock; tried for 30 s, longer than any refresh takes.
    @concurrent
    public func lock() async throws -> any TokenStoreLock {
        let deadline = clock.now + .seconds(30)
        while true {
            do throws(FileError) {
                if let lock = try FileLock.tryLock("\(path).lock") {
                    return HeldLock(store: self, lock: lock)
                }
            } catch {
                throw TokenStoreError("\(path).lock: \(error.description)")
            }
            guard clock.now < deadline else {
                throw TokenStoreError("\(path).lock is held by another process for 30 s")
            }
            try await clock.sleep(until: clock.now + .milliseconds(20))
        }
    }

    /// Only the holder of the lock sets a file aside: for anybody else it may be a new one by then.
    private func load(setsAside: Bool) throws -> StoredGrant? {
        let bytes: [UInt8]?
        do throws(FileError) {
            bytes = try DurableFile.read(path, limit: FileTokenStore.sizeLimit)
        } catch {
            throw TokenStoreError("\(path): \(error.description)")
        }
        guard let bytes else { return nil }
        if let grant = try? JSONDecoder().decode(StoredGrant.self, from: Data(bytes)) {
            return grant
        }
        guard setsAside else { throw TokenStoreError("\(path) is corrupt") }
        // Corrupt is not empty: it is kept for a person to look at, and never overwritten.
        let mark = String(UInt32.random(in: .min ... .max), radix: 36)
        let aside = "\(path).corrupt-\(Int(clock.wallNow))-\(mark)"
        do throws(FileError) {
            try DurableFile.rename(path, to: aside)
        } catch {
            throw TokenStoreError(
                "\(path) is corrupt and cannot be set aside: \(error.description)"
            )
        }
        onCorrupt(aside)
        return nil
    }

    private final class HeldLock: TokenStoreLock {
        private let store: FileTokenStore
        private let lock: Mutex<FileLock?>

        init(store: FileTokenStore, lock: FileLock) {
            self.store = store
            self.lock = Mutex(lock)
        }

        @concurrent
        func read() async throws -> StoredGrant? { try store.load(setsAside: true) }

        @concurrent
        func write(_ grant: StoredGrant) async throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys]
            let bytes = Array(try encoder.encode(grant))
            do throws(FileError) {
                try DurableFile.replace(store.path, with: bytes, mode: 0o600)
            } catch {
                throw TokenStoreError("\(store.path): \(error.description)")
            }
        }

        @concurrent
        func remove() async throws {
            do throws(FileError) {
                try DurableFile.remove(store.path)
            } catch {
                throw TokenStoreError("\(store.path): \(error.description)")
            }
        }

        func release() { lock.withLock { $0 = nil } }
    }
}
