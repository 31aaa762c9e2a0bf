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
    /// The store of tokens that machines share, in place of the directory.
    package var etcd: EtcdSettings?
    /// The keys of stored tokens: the first one encrypts, all decrypt; without any they are not encrypted.
    package var stateKeys: [SecretReference]
    package var workers: Workers
    package var busyPoll: BusyPoll
    package var drain: Duration
    package var limits: Limits
    package var unmatched: Unmatched
    package var connect: [ConnectPattern]
    package var log: LogSettings
    /// The credentials that channels share, in the order of the file.
    package var identities: [IdentityConfiguration] = []
    /// In the order of the file.
    package var channels: [ChannelConfiguration]
    /// The names of the files, as used in errors: the main file, then those that it includes.
    package var files: [String] = []
    /// The name of the main file.
    package var file: String { files.first ?? "" }

    /// The name of the file that a position is in.
    package func file(at position: Position) -> String {
        files.indices.contains(position.source) ? files[position.source] : file
    }
    /// The files and secrets that the configuration names, for the daemon to check.
    ///
    /// They contain positions, so leave them out when comparing configurations.
    package var mentions: [Mention]
    /// The values as they are written, with `defaults` merged into the channels.
    package var written = WrittenValues()

    /// The credential of an identity, or of the channel of a name; nil without either.
    ///
    /// An identity and a channel of the same name have the same one.
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

    /// Whether an event loop polls briefly before it sleeps.
    package enum BusyPoll: String, Sendable, CaseIterable {
        /// If measurements show that polling is cheaper, or slightly dearer while requests wait.
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
        /// The limits of a connection in HTTP/2; nil if clients speak HTTP/1 only.
        package var http2: HTTP2?

        /// The limits of a connection in HTTP/2.
        package struct HTTP2: Sendable, Hashable {
            package var streams: Int
        }
    }

    /// The treatment of an absolute-form request that no channel matches.
    package enum Unmatched: String, Sendable, CaseIterable {
        case deny
        case forward
    }

    /// A destination that CONNECT may open a tunnel to.
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

    /// The absolute path of the directory, which has one file per channel.
    package var directory: String
    package var output: Output
    package var format: Format
    /// Nil if log files are rotated by another program.
    package var rotate: Rotation?

    /// The destination of the log.
    package enum Output: String, Sendable, CaseIterable, Codable {
        case file
        case stdout
        case journal
    }

    /// The format of a line.
    package enum Format: String, Sendable, CaseIterable, Codable {
        case json
        case logfmt
        case ecs
        case clf
    }

    /// The size at which a file is rotated, and the number of rotated files kept.
    package struct Rotation: Sendable, Hashable {
        package var size: ByteCount
        package var keep: Int
    }
}
