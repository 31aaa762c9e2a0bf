package import NetproxySettings

/// A validated configuration file, with the defaults filled in.
///
/// Each property has the name of its key; `config/netproxy.example.yaml` is the manual.
package struct ProxyConfiguration: Sendable, Equatable {
    package var listen: [ListenAddress]
    package var allowRemote: Bool
    /// The addresses of the admin interface; none with `admin: off`.
    package var admin: [AdminAddress]
    /// The absolute path of the directory for tokens, and for files that stay on this machine.
    package var state: String
    /// The token store that machines share, instead of the directory.
    package var etcd: EtcdSettings?
    /// The keys of stored tokens: the first one encrypts, all decrypt; without keys, tokens are not
    /// encrypted.
    package var stateKeys: [SecretReference]
    package var workers: Workers
    package var busyPoll: BusyPoll
    package var drain: Duration
    package var limits: Limits
    package var unmatched: Unmatched
    package var connect: [ConnectPattern]
    package var log: LogSettings
    /// The shared credentials of channels, in the order of the file.
    package var identities: [IdentityConfiguration] = []
    /// The channels, in the order of the file.
    package var channels: [ChannelConfiguration]
    /// The names of the files, as used in errors: the main file, then the included ones.
    package var files: [String] = []
    /// The name of the main file.
    package var file: String { files.first ?? "" }

    /// Returns the name of the file that contains a position.
    package func file(at position: Position) -> String {
        files.indices.contains(position.source) ? files[position.source] : file
    }
    /// The files and secrets that the configuration names, for the daemon to check.
    ///
    /// They contain positions, so exclude them when comparing configurations.
    package var mentions: [Mention]
    /// The values as written, with `defaults` merged into the channels.
    package var written = WrittenValues()

    /// Returns the credential of the identity or channel with a name, or nil without either.
    ///
    /// An identity and a channel of the same name have the same credential.
    package func credential(of name: String) -> CredentialConfiguration? {
        identities.first { $0.name == name }?.credential
            ?? channels.first { $0.name == name }?.credentials.first
    }

    /// The number of event loops.
    package enum Workers: Sendable, Hashable {
        /// The number of cores, at most 4.
        case auto
        /// 1 to 64.
        case count(Int)
    }

    /// The policy for polling briefly before an event loop sleeps.
    package enum BusyPoll: String, Sendable, CaseIterable {
        /// Poll if measurements show that it is cheaper, or slightly more expensive while requests wait.
        case auto
        case off
    }

    /// Limits on requests and connections from clients.
    package struct Limits: Sendable, Hashable {
        package var headerSize: ByteCount
        package var headerCount: Int
        package var targetSize: ByteCount
        package var connections: Int
        package var headTimeout: Duration
        /// The limits of an HTTP/2 connection; nil if clients may speak only HTTP/1.
        package var http2: HTTP2?

        /// The limits of an HTTP/2 connection.
        package struct HTTP2: Sendable, Hashable {
            package var streams: Int
        }
    }

    /// The treatment of an absolute-form request that no channel matches.
    package enum Unmatched: String, Sendable, CaseIterable {
        case deny
        case forward
    }

    /// A permitted destination of a CONNECT tunnel.
    package struct ConnectPattern: Sendable, Hashable {
        /// A name, an address, `*.suffix` or `*`.
        package var host: String
        package var port: Int
    }
}

/// The destination and format of the request log.
package struct LogSettings: Sendable, Hashable {
    /// The socket of systemd's journal, for its native protocol.
    package static let journalPath = "/run/systemd/journal/socket"

    /// The absolute path of the directory, which contains one file per channel.
    package var directory: String
    package var output: Output
    package var format: LogFormat
    /// The limits for rotation; nil if another program rotates the log files.
    package var rotate: Rotation?

    /// The destination of the log.
    package enum Output: String, Sendable, CaseIterable, Codable {
        case file
        case stdout
        case journal
    }

    /// The size that triggers a rotation, and the number of rotated files kept.
    package struct Rotation: Sendable, Hashable {
        package var size: ByteCount
        package var keep: Int
    }
}
