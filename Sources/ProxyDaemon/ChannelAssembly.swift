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
    /// What a reload has read so far; empty between reloads.
    let secrets: SecretReadings
    let oauthClients: OAuthAssembly
    /// Where tokens are, and bodies that are kept on disk.
    private let stateDirectory: String
    /// The settings in force; output and format stay as they were at the start.
    private let logSettings: Mutex<LogSettings>
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
        secrets = SecretReadings(SecretResolver(environment: environment))
        oauthClients = try OAuthAssembly(configuration, secrets: secrets, loop: loop)
        stateDirectory = configuration.state
        let log = configuration.log
        logSettings = Mutex(log)
        if log.output == .file { try LogDirectory.create(log.directory) }
        stream = try ChannelAssembly.stream(log)
        ownLog = ChannelAssembly.log(
            named: LogDirectory.ownLog,
            LogLabels(),
            log,
            stream,
            feed
        )
    }

    /// The channels; one whose configuration, secrets and certificates are the same as before is kept
    /// as it is, with its token, its pools and its open connections.
    func channels(
        of configuration: ProxyConfiguration,
        keeping present: [ChannelShared]
    ) async throws -> [ChannelShared] {
        secrets.forget()
        defer { secrets.forget() }
        var channels: [ChannelShared] = []
        for wanted in configuration.channels {
            let inputs = try await inputs(of: wanted)
            if let kept = present.first(where: {
                $0.configuration == wanted && $0.inputs == inputs
            }) {
                channels.append(kept)
            } else {
                channels.append(try await make(wanted, inputs))
            }
        }
        return channels
    }

    /// The secrets and files that a channel is made of.
    func inputs(of channel: ChannelConfiguration) async throws -> ChannelInputs {
        var inputs = ChannelInputs(files: channel.files)
        for reference in channel.secretReferences {
            inputs.secrets[reference] = try await secrets.secret(reference)
        }
        for reference in channel.documentReferences {
            inputs.documents[reference] = try await secrets.document(reference)
        }
        return inputs
    }

    /// Goes on in other log files, or with another rotation.
    ///
    /// - Throws: if the directory cannot be made.
    func moveLogs(to wanted: LogSettings) throws {
        let present = logSettings.withLock { $0 }
        var next = present
        next.directory = wanted.directory
        next.rotate = wanted.rotate
        guard next != present, present.output == .file else { return }
        try LogDirectory.create(next.directory)
        logSettings.withLock { [next] in $0 = next }
        for log in [ownLog] + logs.withLock({ $0 }) {
            let name = log.labels.channel ?? LogDirectory.ownLog
            log.sink.redirect(to: ChannelAssembly.file(named: name, next))
        }
    }

    /// The channels of one loop.
    ///
    /// - Parameters:
    ///   - channels: what the loops share.
    ///   - router: of the same channels.
    ///   - settings: where what no channel claims goes.
    ///   - present: the table that is in force; what it has of these is kept.
    ///   - prepared: channels that were made in advance.
    ///   - loop: whose table it is.
    ///   - loops: how many there are.
    /// - Returns: the table.
    func table(
        of channels: [ChannelShared],
        routing router: Router,
        forwarding settings: ForwardProxy.Settings,
        keeping present: ChannelTable?,
        _ prepared: [Channel] = [],
        on loop: EventLoop,
        loops: Int
    ) -> ChannelTable {
        var known: [ObjectIdentifier: Channel] = [:]
        for channel in present?.channels ?? [] { known[ObjectIdentifier(channel.shared)] = channel }
        for channel in prepared { known[ObjectIdentifier(channel.shared)] = channel }
        return ChannelTable(
            router: router,
            channels: channels.map { shared in
                known[ObjectIdentifier(shared)] ?? Channel(shared, on: loop, loops: loops)
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
        let format = settings.lineFormat
        let sink = LogSink(labels: labels, to: file(named: name, settings), format: format)
        return ChannelLog(labels: labels, sink: sink, feed: feed, format: format)
    }

    private static func file(named name: String, _ settings: LogSettings) -> RotatingFile {
        let rotation = settings.rotate.map { Rotation(size: $0.size.bytes, keep: $0.keep) }
        return RotatingFile(
            path: LogDirectory.path(of: name, in: settings.directory),
            rotation: rotation ?? Rotation(size: .max, keep: 0)
        )
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

    private func make(
        _ configuration: ChannelConfiguration,
        _ inputs: ChannelInputs
    ) async throws -> ChannelShared {
        var key: Secret?
        if let reference = configuration.access.key { key = try await secrets.secret(reference) }
        let access = AccessPolicy(
            hosts: configuration.access.hosts,
            origins: configuration.access.origins,
            users: configuration.access.users,
            key: key,
            lent: (configuration.name, clientKeys)
        )
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
            logSettings.withLock { $0 },
            stream,
            feed
        )
        logs.withLock { $0.append(log) }
        if configuration.retry.spill != nil {
            try FileSystem.makeDirectory(stateDirectory, mode: 0o700)
        }
        if configuration.stub != nil {
            report("channel \(configuration.name): its stub answers; no upstream is asked")
        }
        return try ChannelShared(
            configuration,
            inputs,
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
