/// Everything a configuration file says, validated, with the defaults filled in.
///
/// Each property is the key of the same name; `config/netproxy.example.yaml` is the manual.
package struct ProxyConfiguration: Sendable, Equatable {
    package var listen: [ListenAddress]
    package var allowRemote: Bool
    package var admin: AdminAddress
    /// The absolute path of the directory for tokens.
    package var state: String
    /// The key that token files are sealed with; nothing leaves them plain.
    package var stateKey: SecretReference?
    package var workers: Workers
    package var busyPoll: BusyPoll
    package var drain: Duration
    package var limits: Limits
    package var unmatched: Unmatched
    package var connect: [ConnectPattern]
    package var log: LogSettings
    /// In the order of the file.
    package var channels: [ChannelConfiguration]
    /// The file that says so, as errors call it.
    package var file = ""
    /// The files and secrets that the configuration names, for ``ConfigurationChecker``.
    ///
    /// They have positions in them: to see whether a reload changes something, compare the rest.
    package var mentions: [Mention]

    /// How many event loops there are.
    package enum Workers: Sendable, Hashable {
        /// As many as there are cores, at most 4.
        case auto
        /// 1 to 64.
        case count(Int)
    }

    /// Whether an event loop polls for a moment before it sleeps.
    package enum BusyPoll: String, Sendable, CaseIterable {
        /// Where it measures that this is cheaper, or little dearer and somebody waits.
        case auto
        case off
    }

    /// What one process accepts from the apps.
    package struct Limits: Sendable, Hashable {
        package var headerSize: ByteCount
        package var headerCount: Int
        package var targetSize: ByteCount
        package var connections: Int
        package var headTimeout: Duration
        /// The slowest pace of a request's content, for each second; nil means any will do.
        package var bodyRate: ByteCount?
    }

    /// What happens to an absolute-form request that no channel claims.
    package enum Unmatched: String, Sendable, CaseIterable {
        case deny
        case forward
    }

    /// A destination for which CONNECT opens a tunnel.
    package struct ConnectPattern: Sendable, Hashable {
        /// A name, an address, `*.suffix` or `*`.
        package var host: String
        package var port: Int
    }
}

/// Where the request log goes, and how it looks.
package struct LogSettings: Sendable, Hashable {
    /// Where systemd's journal listens (systemd.journal-fields(7), native protocol).
    package static let journalPath = "/run/systemd/journal/socket"

    /// The absolute path of the directory with one file per channel.
    package var directory: String
    package var output: Output
    package var format: Format
    /// Absent when somebody else rotates.
    package var rotate: Rotation?

    /// What the log is written to.
    package enum Output: String, Sendable, CaseIterable {
        case file
        case stdout
        case journal
    }

    /// How a record becomes a line.
    package enum Format: String, Sendable, CaseIterable {
        case json
        case logfmt
        case ecs
        case clf
    }

    /// When a file is set aside, and how many of those stay.
    package struct Rotation: Sendable, Hashable {
        package var size: ByteCount
        package var keep: Int
    }
}
