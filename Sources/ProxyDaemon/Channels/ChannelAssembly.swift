import Bytes
import EventIO
import FoundationEssentials
import HTTPMessage
import NetworkCore
import OriginTransport
import ProxyConfig
import RequestLog

/// Makes the channels of a configuration: reads secrets, opens logs, starts OAuth managers.
final class ChannelAssembly: Sendable {
    let environment: [String: String]
    /// What a reload has read so far; empty between reloads.
    let secrets: SecretReadings
    let oauthClients: OAuthAssembly
    /// Where tokens are, and bodies that are kept on disk.
    private let stateDirectory: String
    /// Where their lines go, and those of the daemon itself.
    let logs: ChannelLogs
    private let ownLog: ChannelLog
    let report: OperatorReport
    /// The keys of programs that run under `netproxy exec`.
    let clientKeys = ClientKeys()
    /// How often the channels' tokens were asked for.
    let tokenRequests = TokenRequests()

    /// Prepares what the channels of every configuration share; `loop` speaks to token endpoints.
    init(
        _ configuration: ProxyConfiguration,
        environment: [String: String],
        loop: EventLoop,
        report: @escaping OperatorReport
    ) throws {
        self.environment = environment
        self.report = report
        secrets = SecretReadings(SecretResolver(environment: environment))
        oauthClients = try OAuthAssembly(configuration, secrets: secrets, loop: loop)
        stateDirectory = configuration.state
        logs = try ChannelLogs(configuration.log, report: report)
        ownLog = logs.log(LogLabels())
    }

    /// The channels; one whose configuration, secrets and certificates are the same as before is kept
    /// as it is, with its token, its pools and its open connections.
    func channels(
        of configuration: ProxyConfiguration,
        keeping present: [ChannelShared]
    ) async throws -> [ChannelShared] {
        secrets.forget()
        defer { secrets.forget() }
        let inputs = try await inputs(of: configuration)
        var channels: [ChannelShared] = []
        for (wanted, inputs) in zip(configuration.channels, inputs) {
            if let kept = present.first(where: {
                $0.configuration == wanted && $0.inputs == inputs
            }) {
                channels.append(kept)
            } else {
                channels.append(try await make(wanted, inputs))
            }
        }
        tellSharedSeeds(among: channels, besides: present)
        return channels
    }

    /// The secrets and files that the channels are made of.
    ///
    /// - Throws: `ConfigurationErrors`, of every secret that cannot be had.
    private func inputs(of configuration: ProxyConfiguration) async throws -> [ChannelInputs] {
        var errors: [ConfigurationError] = []
        var inputs: [ChannelInputs] = []
        for channel in configuration.channels {
            inputs.append(
                await self.inputs(of: channel, reading: secrets) { reference, problem in
                    errors.append(
                        configuration.error(of: reference, in: channel.name, problem)
                    )
                }
            )
        }
        guard errors.isEmpty else { throw ConfigurationErrors(errors) }
        return inputs
    }

    /// The secrets and files that a channel is made of.
    ///
    /// - Parameters:
    ///   - channel: the channel.
    ///   - secrets: reads them.
    ///   - onProblem: told of each secret that cannot be had.
    /// - Returns: what could be read.
    func inputs(
        of channel: ChannelConfiguration,
        reading secrets: SecretReadings,
        onProblem: (SecretReference, SecretError) -> Void
    ) async -> ChannelInputs {
        var inputs = ChannelInputs(files: channel.files)
        for reference in channel.secretReferences {
            do throws(SecretError) {
                inputs.secrets[reference] = try await secrets.secret(reference)
            } catch {
                onProblem(reference, error)
            }
        }
        for reference in channel.documentReferences {
            do throws(SecretError) {
                inputs.documents[reference] = try await secrets.document(reference)
            } catch {
                onProblem(reference, error)
            }
        }
        return inputs
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
            credentialField: configuration.authentication.fieldName.flatMap { HTTPFieldName($0) },
            lent: (configuration.name, clientKeys)
        )
        let log = logs.log(
            LogLabels(
                channel: configuration.name,
                subsystem: configuration.log.subsystem,
                category: configuration.log.category,
                query: QueryMode(configuration.log.query),
                headers: configuration.log.headers.compactMap { HTTPFieldName($0) },
                credentialFields: configuration.credentialFields
            )
        )
        if configuration.retry.spill != nil {
            try ConfiguredDirectory.make(stateDirectory, mode: 0o700, for: "state")
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
