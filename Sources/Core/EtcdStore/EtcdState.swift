import FoundationEssentials
package import OAuth
import Synchronization

/// The token stores of all grant families below one prefix in etcd.
package final class EtcdState: Sendable {
    private let client: EtcdClient
    private let prefix: String
    private let seal: TokenSeal
    private let holder: String
    private let directory: String?
    private let watches = Mutex<[String: FamilyWatch]>([:])

    /// Names the place; nothing is sent yet.
    ///
    /// - Parameters:
    ///   - prefix: the beginning of all keys, such as `/netproxy/`.
    ///   - seal: encrypts all stored bytes.
    ///   - holder: the name of this process in its locks.
    ///   - directory: a directory of this machine for the highest revisions that it has used; without one
    ///     an older copy in etcd is recognized only while the process runs.
    ///   - client: speaks to etcd.
    package init(
        below prefix: String,
        sealing seal: TokenSeal,
        as holder: String,
        remembering directory: String? = nil,
        by client: EtcdClient
    ) {
        (self.prefix, self.seal, self.holder, self.client) = (prefix, seal, holder, client)
        self.directory = directory
    }

    /// The current standing of etcd.
    package var standing: EtcdClient.Standing { client.standing }

    /// The store of a family.
    package func store(of family: String) -> EtcdTokenStore {
        let name = FamilyName.encoded(family)
        let watch = watches.withLock { watches in
            if let known = watches[name] { return known }
            let keys = FamilyWatch.Keys(prefix: prefix, family: name)
            let watch = FamilyWatch(keys, by: client)
            watches[name] = watch
            return watch
        }
        let highest = directory.map { RevisionFile(in: $0, family: family) }
        return EtcdTokenStore(watch, sealing: seal, as: holder, remembering: highest, by: client)
    }

    /// The families that have tokens, in order.
    ///
    /// - Throws: `EtcdFault`.
    package func families() async throws(EtcdFault) -> [String] {
        var end = Array(prefix.utf8)
        end[end.count - 1] += 1
        let found: EtcdRangeResponse = try await client.send(
            "kv/range",
            EtcdRange(key: Data(prefix.utf8), range_end: Data(end))
        )
        let suffix = "/record"
        return (found.kvs ?? []).map { String(decoding: $0.key, as: UTF8.self) }
            .filter { $0.hasSuffix(suffix) }
            .map { String($0.dropFirst(prefix.count).dropLast(suffix.count)) }
            .compactMap(FamilyName.family)
            .sorted()
    }
}
