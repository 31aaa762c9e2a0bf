import FoundationEssentials
import NetproxyBytes
import NetproxyPath
import NetworkCore
import Synchronization

/// What a program needs to use the proxy for a while: a key, and the addresses.
package struct ClientLease: Codable, Sendable {
    /// A channel that the key is for.
    package struct LeasedChannel: Codable, Sendable {
        /// Its name.
        package let name: String
        /// The URL that stands for the upstream's base, if the channel has one over TCP.
        package let url: String?
        /// The first upstream's host.
        package let upstreamHost: String
        /// All upstreams.
        package var upstreams: [Server]?
        /// The variables of the channel's `exec`, with their values.
        package var variables: [String: String]?
        /// Why others of them have no value, by name.
        package var missing: [String: String]?
    }

    /// A server that a channel leads to.
    package struct Server: Codable, Sendable {
        /// Its name or address.
        package let host: String
        /// Its port.
        package let port: UInt16
    }

    /// The key, for `Proxy-Authorization`.
    package let key: String
    /// Where the proxy listens, `host:port`; `nil` if it listens on unix sockets only.
    package let proxy: String?
    /// The channels.
    package let channels: [LeasedChannel]

    /// Reads the daemon's answer; `nil` if it is not a lease.
    package init?(json: String) {
        guard let read = try? JSONDecoder().decode(ClientLease.self, from: Data(json.utf8)) else {
            return nil
        }
        self = read
    }

    init(key: String, proxy: String?, channels: [LeasedChannel]) {
        self.key = key
        self.proxy = proxy
        self.channels = channels
    }

    /// The warning before a program runs that no variable leads to the proxy.
    package var warning: String? {
        guard proxy == nil, channels.allSatisfy({ $0.url == nil }) else { return nil }
        return "no listener is on TCP: NETPROXY_KEY is set, but neither http_proxy nor any URL"
    }

    /// The line that an answer begins with.
    var line: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Unreachable else: texts can always be encoded.
        guard let data = try? encoder.encode(self) else { return [] }
        return Array(data) + [UInt8(ascii: "\n")]
    }
}

/// A lease as the body of a response: one line, and then silence for as long as the connection stays
/// open.
///
/// The key ends with the connection, so that it does not survive a program that was killed.
final class ClientLeaseBody: BodySource {
    private let keys: ClientKeys
    private let grant: ClientKeys.Grant
    private let line: Mutex<[UInt8]?>

    init(_ lease: ClientLease, _ grant: ClientKeys.Grant, of keys: ClientKeys) {
        self.keys = keys
        self.grant = grant
        line = Mutex(lease.line)
    }

    deinit {
        keys.revoke(grant)
    }

    func next() async throws -> ByteSlice? {
        if let line = line.withLock({ $0.take() }) { return ByteSlice(line) }
        // Also ends when the task is cancelled because the peer went away.
        for await _ in grant.life {}
        keys.revoke(grant)
        return nil
    }

    func cancel() { keys.revoke(grant) }
}
