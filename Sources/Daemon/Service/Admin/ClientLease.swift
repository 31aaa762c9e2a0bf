import FoundationEssentials
import NetproxyBytes
import NetproxyPath
import NetworkCore
import Synchronization

/// A temporary permission for a program to use the proxy: a key, and the addresses.
package struct ClientLease: Codable, Sendable {
    /// A channel that the key opens.
    package struct LeasedChannel: Codable, Sendable {
        /// The name of the channel.
        package let name: String
        /// The URL to use instead of the upstream's base, if the channel is reachable over TCP.
        package let url: String?
        /// The host of the first upstream.
        package let upstreamHost: String
        /// All upstreams.
        package var upstreams: [Server]?
        /// The variables of the channel's `exec`, with their values.
        package var variables: [String: String]?
        /// The reasons for variables without a value, by name.
        package var missing: [String: String]?
    }

    /// An upstream server of a channel.
    package struct Server: Codable, Sendable {
        /// The name or address.
        package let host: String
        /// The port.
        package let port: UInt16
    }

    /// The key, for `Proxy-Authorization`.
    package let key: String
    /// The address of the proxy, `host:port`; `nil` if it listens only on unix sockets.
    package let proxy: String?
    /// The channels that the key opens.
    package let channels: [LeasedChannel]

    /// Parses the daemon's response; `nil` if it is not a lease.
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

    /// A warning for the user if no variable points to the proxy.
    package var warning: String? {
        guard proxy == nil, channels.allSatisfy({ $0.url == nil }) else { return nil }
        return "no listener is on TCP: NETPROXY_KEY is set, but neither http_proxy nor any URL"
    }

    /// The first line of the response.
    var line: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Unreachable: strings can always be encoded.
        guard let data = try? encoder.encode(self) else { return [] }
        return Array(data) + [UInt8(ascii: "\n")]
    }
}

/// A lease as the body of a response: one line, and then silence until the connection closes.
///
/// The key ends with the connection, so it does not outlive a killed program.
final class ClientLeaseBody: BodySource {
    let lease: ClientLease
    private let keys: ClientKeys
    private let grant: ClientKeys.Grant
    private let line: Mutex<[UInt8]?>

    init(_ lease: ClientLease, _ grant: ClientKeys.Grant, of keys: ClientKeys) {
        self.lease = lease
        self.keys = keys
        self.grant = grant
        line = Mutex(lease.line)
    }

    deinit {
        keys.revoke(grant)
    }

    func next() async throws -> ByteSlice? {
        if let line = line.withLock({ $0.take() }) { return ByteSlice(line) }
        // This also ends when the task is canceled because the peer disconnected.
        for await _ in grant.life {}
        keys.revoke(grant)
        return nil
    }

    func cancel() { keys.revoke(grant) }
}
