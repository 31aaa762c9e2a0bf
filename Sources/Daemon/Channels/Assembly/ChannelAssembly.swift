import FoundationEssentials
import NetproxyBytes
package import NetproxyConfig
package import NetproxyEventIO
import NetproxyHTTPMessage
package import NetproxyPath
package import NetproxyRequestLog
import NetproxySystem
import NetworkCore
package import OAuth
import OriginTransport

/// Makes the channels of a configuration: reads secrets, opens logs, and makes OAuth managers.
package final class ChannelAssembly: Sendable {
    let environment: [String: String]
    /// The secrets that a reload has read so far; empty between reloads.
    package let secrets: SecretReader
    package let oauthClients: OAuthAssembly
    /// The directory of tokens, and of bodies that are kept on disk.
    private let stateDirectory: String
    /// The logs of the channels and of the daemon itself.
    package let logs: ChannelLogs
    /// The log of the daemon itself, and of what no channel claims.
    package let ownLog: ChannelLog
    let report: OperatorReport
    /// Called where the tokens of a channel are of another process's sign-in than it was made for.
    let followSignIn: @Sendable (String) -> Void
    /// The keys of programs that run under `netproxy exec`.
    package let clientKeys: ClientKeys
    /// How often each channel's token was requested.
    package let tokenRequests = TokenRequests()

    /// Prepares what the channels of every configuration share; `loop` speaks to token endpoints.
    ///
    /// `followSignIn` is called where the tokens of a channel are of another process's sign-in than it was
    /// made for.
    package init(
        _ configuration: ProxyConfiguration,
        environment: [String: String],
        loop: EventLoop,
        report: @escaping OperatorReport,
        followSignIn: @escaping @Sendable (String) -> Void
    ) throws {
        self.environment = environment
        self.report = report
        self.followSignIn = followSignIn
        secrets = SecretReader(SecretResolver(environment: environment))
        oauthClients = try OAuthAssembly(
            configuration,
            secrets: secrets,
            loop: loop,
            report: report
        )
        stateDirectory = configuration.state
        logs = try ChannelLogs(configuration.log, report: report)
        let ownLog = logs.log(LogLabels())
        self.ownLog = ownLog
        clientKeys = ClientKeys { grant, change in
            let action: Audit =
                switch change {
                case .lent: .lend
                case .ended: .end
                }
            ownLog.write(action.record(of: grant.channels ?? [], by: grant.peer, key: grant.id))
        }
    }

    /// Returns the channels; one whose configuration, secrets and certificates have not changed is kept
    /// with its token, its pools and its open connections.
    ///
    /// With them comes the time after which a secret has to be read again, if a program has said so.
    package func channels(
        of configuration: ProxyConfiguration,
        keeping present: [ChannelRecord]
    ) async throws -> (channels: [ChannelRecord], secretLifetime: Duration?) {
        secrets.forget()
        defer { secrets.forget() }
        if let objection = FileTrust.objection(toDirectory: stateDirectory) {
            report("warning: state: \(objection)")
        }
        let inputs = try await inputs(of: configuration, keeping: present)
        var channels: [ChannelRecord] = []
        var accounts = present.flatMap(\.accounts)
        for (wanted, inputs) in zip(configuration.channels, inputs) {
            if let kept = present.first(where: {
                $0.configuration == wanted && $0.inputs == inputs
            }) {
                channels.append(kept)
            } else {
                let earlier = present.first { $0.name == wanted.name }
                channels.append(try await make(wanted, inputs, &accounts, replacing: earlier))
            }
        }
        reportSharedSeeds(among: channels, besides: present)
        return (channels, secrets.lifetime)
    }

    /// Reads the secrets and files that the channels are made of.
    ///
    /// - Throws: `ConfigurationErrors`, for every secret that cannot be read.
    private func inputs(
        of configuration: ProxyConfiguration,
        keeping present: [ChannelRecord]
    ) async throws -> [ChannelInputs] {
        // The key of the state is read at a start only.
        await secrets.runPrograms(
            secrets: configuration.channels.flatMap(\.secretReferences)
                + (present.isEmpty ? configuration.stateKeys : []),
            documents: configuration.channels.flatMap(\.documentReferences)
        )
        var errors: [ConfigurationError] = []
        var inputs: [ChannelInputs] = []
        for channel in configuration.channels {
            let earlier = present.first { $0.name == channel.name }?.inputs.pinned
            inputs.append(
                await self.inputs(of: channel, reading: secrets, knowing: earlier) {
                    reference,
                    problem in
                    errors.append(
                        configuration.error(of: reference, in: channel.name, problem)
                    )
                }
            )
        }
        guard errors.isEmpty else { throw ConfigurationErrors(errors) }
        return inputs
    }

    /// Reads the secrets and files that a channel is made of.
    ///
    /// - Parameters:
    ///   - channel: the channel.
    ///   - secrets: reads them.
    ///   - earlier: the server that was known before, for a store that cannot be read now.
    ///   - onProblem: gets each secret that cannot be read.
    /// - Returns: what could be read.
    package func inputs(
        of channel: ChannelConfiguration,
        reading secrets: SecretReader,
        knowing earlier: PinnedServer? = nil,
        onProblem: (SecretReference, SecretError) -> Void
    ) async -> ChannelInputs {
        var inputs = ChannelInputs(files: channel.files)
        inputs.note(await oauthClients.stored(of: channel, orKnown: earlier), of: channel)
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

    /// Whether the sign-in that is stored for a channel is another one than it was made for; no, if that
    /// cannot be read now.
    package func hasOtherSignIn(than channel: ChannelRecord) async -> Bool {
        guard channel.configuration.discovery != nil,
            let credential = channel.configuration.credentials.first
        else { return false }
        var found = channel.inputs
        do {
            let stored = try await oauthClients.storedServer(of: credential)
            found.note(stored, of: channel.configuration)
        } catch {
            return false
        }
        return found != channel.inputs
    }

    private func make(
        _ configuration: ChannelConfiguration,
        _ inputs: ChannelInputs,
        _ known: inout [ChannelAccount],
        replacing earlier: ChannelRecord?
    ) async throws -> ChannelRecord {
        var key: Secret?
        if let reference = configuration.access.key { key = try await secrets.secret(reference) }
        let access = AccessPolicy(
            hosts: configuration.access.hosts,
            origins: configuration.access.origins,
            stake: configuration.hasCredential ? .credential : .nothing,
            users: configuration.access.users,
            key: key,
            place: configuration.credentialPlace,
            lent: (configuration.name, clientKeys),
            unknownKeys: configuration.credentials.count > 1 ? .refused : .ignored
        )
        let log = logs.log(
            LogLabels(
                channel: configuration.name,
                subsystem: configuration.log.subsystem,
                category: configuration.log.category,
                query: QueryMode(configuration.log.query),
                headers: configuration.log.headers.compactMap { HTTPFieldName($0) },
                credentialFields: configuration.credentialFields,
                credentialParameter: configuration.credentialPlace?.parameter?.name
            )
        )
        if configuration.retry.spill != nil {
            try ConfiguredDirectory.make(stateDirectory, mode: 0o700, for: "state")
        }
        if configuration.stub != nil {
            report("channel \(configuration.name): answers from its stub, no upstream is contacted")
        }
        return try ChannelRecord(
            configuration,
            inputs,
            accounts: try await accounts(of: configuration, inputs, among: &known, log: log),
            gate: (access, limiter(configuration.rate, replacing: earlier?.rules.limiter)),
            log: log,
            spillDirectory: stateDirectory
        )
    }

    /// Returns what counts a channel's requests; goes on counting where a reload leaves `rate` as it is.
    private func limiter(
        _ settings: RateSettings?,
        replacing earlier: RateLimiter?
    ) -> RateLimiter? {
        guard earlier?.settings != settings else { return earlier }
        return settings.map { RateLimiter($0) }
    }

    /// Writes an event of the daemon itself to its own log.
    package func log(
        _ event: EventRecord.Event,
        _ message: String,
        level: LogLevel = .info
    ) {
        ownLog.write(EventRecord(time: .now, level: level, event: event, message: message))
    }
}
