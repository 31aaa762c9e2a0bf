import Bytes
import EventIO
import FoundationEssentials
import HTTPMessage
import NetworkCore
import OriginTransport
import ProxyConfig
import RequestLog
import Synchronization

/// Makes the channels of a configuration: reads secrets, opens logs, starts OAuth managers.
final class ChannelAssembly: Sendable {
    let environment: [String: String]
    let secrets: SecretResolver
    let oauthClients: OAuthAssembly
    /// Where tokens are, and bodies that are kept on disk.
    private let stateDirectory: String
    private let logSettings: LogSettings
    private let logs = Mutex<[ChannelLog]>([])
    private let ownLog: ChannelLog
    /// One for all channels, so that their lines never mix; nothing where the log goes to files.
    private let stream: LogSink?
    let report: Daemon.Report
    /// Every line of every log, as it happens.
    let feed = LogFeed()
    /// The keys of programs that run under `netproxy exec`.
    let clientKeys = ClientKeys()

    /// Prepares what the channels of every configuration share; `loop` speaks to token endpoints.
    init(
        _ configuration: ProxyConfiguration,
        environment: [String: String],
        loop: EventLoop,
        report: @escaping Daemon.Report
    ) throws {
        self.environment = environment
        self.report = report
        secrets = SecretResolver(environment: environment)
        oauthClients = try OAuthAssembly(configuration, secrets: secrets, loop: loop)
        stateDirectory = configuration.state
        logSettings = configuration.log
        if logSettings.output == .file { try LogDirectory.create(logSettings.directory) }
        stream = try ChannelAssembly.stream(logSettings)
        ownLog = ChannelAssembly.log(
            named: LogDirectory.ownLog,
            LogLabels(),
            logSettings,
            stream,
            feed
        )
    }

    /// The channels; one whose configuration is the same as before is kept as it is, with its
    /// token, its pools and its open connections.
    func channels(
        of configuration: ProxyConfiguration,
        keeping present: [ChannelShared]
    ) async throws -> [ChannelShared] {
        var channels: [ChannelShared] = []
        for wanted in configuration.channels {
            if let kept = present.first(where: { $0.configuration == wanted }) {
                channels.append(kept)
            } else {
                channels.append(try await make(wanted))
            }
        }
        return channels
    }

    /// The channels of one loop; those that `present` has already are kept.
    func table(
        of channels: [ChannelShared],
        forwarding settings: ForwardProxy.Settings,
        keeping present: ChannelTable?,
        on loop: EventLoop,
        loops: Int
    ) -> ChannelTable {
        ChannelTable(
            router: Router(channels.map(\.configuration)),
            channels: channels.map { shared in
                present?.channels.first { $0.shared === shared }
                    ?? Channel(shared, on: loop, loops: loops)
            },
            ownLog: present?.ownLog ?? LogBuffer(ownLog),
            forward: present.flatMap { $0.forward.settings == settings ? $0.forward : nil }
                ?? ForwardProxy(settings, on: loop)
        )
    }

    /// Opens the log files anew.
    func reopenLogs() {
        ownLog.reopen()
        for log in logs.withLock({ $0 }) { log.reopen() }
    }

    /// Log lines that could not be written.
    var droppedLines: Int {
        if let stream { return stream.counters.dropped }
        return logs.withLock { $0 }.reduce(ownLog.counters.dropped) { $0 + $1.counters.dropped }
    }

    private static func log(
        named name: String,
        _ labels: LogLabels,
        _ settings: LogSettings,
        _ stream: LogSink?,
        _ feed: LogFeed
    ) -> ChannelLog {
        if let stream {
            return ChannelLog(labels: labels, sink: stream, feed: feed, format: settings.lineFormat)
        }
        let path = LogDirectory.path(of: name, in: settings.directory)
        let rotation = settings.rotate.map { Rotation(size: $0.size.bytes, keep: $0.keep) }
        let file = RotatingFile(
            path: path,
            rotation: rotation ?? Rotation(size: .max, keep: 0)
        )
        let format = settings.lineFormat
        let sink = LogSink(labels: labels, to: file, format: format)
        return ChannelLog(labels: labels, sink: sink, feed: feed, format: format)
    }

    /// What all channels write to; nothing where each has a file.
    private static func stream(_ settings: LogSettings) throws -> LogSink? {
        switch settings.output {
        case .file: return nil
        case .stdout:
            return LogSink(
                labels: LogLabels(),
                to: StandardOutputDestination(),
                format: settings.lineFormat
            )
        case .journal:
            let path = LogSettings.journalPath
            guard FileManager.default.fileExists(atPath: path) else {
                throw IOError.system(
                    """
                    log.output: nobody listens at \(path): is systemd-journald running? \
                    else use file or stdout
                    """
                )
            }
            let journal = try JournalDestination(path: path, format: settings.messageFormat)
            return LogSink(labels: LogLabels(), to: journal)
        }
    }

    private func make(_ configuration: ChannelConfiguration) async throws -> ChannelShared {
        var access = AccessPolicy()
        access.hosts = configuration.access.hosts
        access.origins = configuration.access.origins
        access.users = configuration.access.users
        if let key = configuration.access.key { access.key = try await secret(key) }
        access.lent = (configuration.name, clientKeys)
        let log = ChannelAssembly.log(
            named: configuration.name,
            LogLabels(
                channel: configuration.name,
                subsystem: configuration.log.subsystem,
                category: configuration.log.category,
                query: QueryMode(rawValue: configuration.log.query.rawValue) ?? .keys,
                headers: configuration.log.headers.compactMap { HTTPFieldName($0) },
                credentialField: configuration.authentication.credentialFields.first
            ),
            logSettings,
            stream,
            feed
        )
        logs.withLock { $0.append(log) }
        if configuration.retry.spill != nil {
            try FileSystem.makeDirectory(stateDirectory, mode: 0o700)
        }
        return try ChannelShared(
            configuration,
            authorizer: try await authorizer(configuration, log),
            access: access,
            log: log,
            spillDirectory: stateDirectory
        )
    }

    /// Tells what happened to the daemon itself, in its own log.
    func tell(
        _ event: EventRecord.Event,
        _ message: String,
        level: LogLevel = .info
    ) {
        ownLog.write(EventRecord(time: .now, level: level, event: event, message: message))
    }
}

extension LogSettings {
    /// The form of the configuration.
    fileprivate var messageFormat: LogFormat { LogFormat(rawValue: format.rawValue) ?? .json }

    /// The form that loops hand over: the journal takes lines apart, and shapes its messages itself.
    fileprivate var lineFormat: LogFormat { output == .journal ? .json : messageFormat }
}
