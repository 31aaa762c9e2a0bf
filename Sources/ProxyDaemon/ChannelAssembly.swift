import Bytes
import EventIO
import HTTPMessage
import NetworkCore
import OriginTransport
import ProxyConfig
import RequestLog
import Synchronization

/// Makes the channels of a configuration: reads secrets, opens logs, starts OAuth managers.
final class ChannelAssembly: Sendable {
    private let environment: [String: String]
    let secrets: SecretResolver
    let loop: EventLoop
    let tokenOptions: UpstreamOptions
    let tokens: PooledTransport
    let stateDirectory: String
    private let logSettings: LogSettings
    private let logs = Mutex<[ChannelLog]>([])
    private let ownLog: ChannelLog
    /// One for all channels, so that their lines never mix; nothing where the log goes to files.
    private let standardOutput: LogSink?
    let report: Daemon.Report

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
        stateDirectory = configuration.state
        var options = UpstreamOptions()
        options.connections = 4
        options.responseTimeout = .seconds(10)
        tokens = try PooledTransport(options: options, on: loop)
        self.loop = loop
        tokenOptions = options
        logSettings = configuration.log
        if logSettings.output == .file { try LogDirectory.create(logSettings.directory) }
        standardOutput =
            logSettings.output == .file
            ? nil : LogSink(labels: LogLabels(), to: StandardOutputDestination())
        ownLog = ChannelAssembly.log(
            named: LogDirectory.ownLog,
            LogLabels(),
            logSettings,
            standardOutput
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
        if let standardOutput { return standardOutput.counters.dropped }
        return logs.withLock { $0 }.reduce(ownLog.counters.dropped) { $0 + $1.counters.dropped }
    }

    private static func log(
        named name: String,
        _ labels: LogLabels,
        _ settings: LogSettings,
        _ standardOutput: LogSink?
    ) -> ChannelLog {
        if let standardOutput { return ChannelLog(labels: labels, sink: standardOutput) }
        let path = LogDirectory.path(of: name, in: settings.directory)
        let rotation = settings.rotate.map { Rotation(size: $0.size.bytes, keep: $0.keep) }
        let file = RotatingFile(
            path: path,
            rotation: rotation ?? Rotation(size: .max, keep: 0)
        )
        return ChannelLog(labels: labels, sink: LogSink(labels: labels, to: file))
    }

    private func make(_ configuration: ChannelConfiguration) async throws -> ChannelShared {
        var access = AccessPolicy()
        access.hosts = configuration.access.hosts
        access.origins = configuration.access.origins
        access.users = configuration.access.users
        if let key = configuration.access.key { access.key = try await secret(key) }
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
            standardOutput
        )
        logs.withLock { $0.append(log) }
        return try ChannelShared(
            configuration,
            authorizer: try await authorizer(configuration, log),
            access: access,
            log: log
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
