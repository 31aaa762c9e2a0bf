import FoundationEssentials
import NetproxyBytes
package import NetproxyConfig
package import NetproxyEventIO
import NetproxyHTTPMessage
package import NetproxyPath
package import NetproxyRequestLog
import NetproxySettings
import NetproxySystem
import NetworkCore
package import OAuth
import OriginTransport

/// Assembles the channels of a configuration: reads secrets, opens logs, and creates OAuth managers.
package final class ChannelAssembly: Sendable {
    let environment: [String: String]
    /// The secrets for the current assembly of a channel; empty at other times.
    package let secrets: SecretReader
    package let oauthClients: OAuthAssembly
    /// Reads the secrets and files of channels.
    package let inputs: InputReader
    /// The directory of tokens and spilled bodies.
    private let stateDirectory: String
    /// The logs of the channels and of the daemon itself.
    package let logs: ChannelLogs
    /// The log of the daemon itself, and of requests without a channel.
    package let ownLog: ChannelLog
    let report: OperatorReport
    /// Called with a channel's name if its stored tokens belong to a newer sign-in by another process.
    let followSignIn: @Sendable (String) -> Void
    /// The keys of programs under `netproxy exec`.
    package let clientKeys: ClientKeys
    /// The number of token requests for each channel.
    package let tokenRequests = TokenRequests()

    /// Creates the parts that the channels of all configurations share.
    ///
    /// Token requests run on `loop`. `followSignIn` is called with a channel's name if its stored tokens
    /// belong to a newer sign-in by another process.
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
        inputs = InputReader(resolver: secrets.resolver, oauthClients: oauthClients)
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

    /// Assembles the channels of a configuration.
    ///
    /// An unchanged channel, with the same configuration, secrets and certificates, keeps its token, its
    /// pools and its open connections. A channel with an unreadable secret or file uses the earlier value.
    /// Without one, a channel in force stays as it was, and any other channel refuses its requests.
    ///
    /// - Parameters:
    ///   - configuration: the configuration.
    ///   - present: the channels in force.
    ///   - occasion: a start or a reload.
    /// - Returns: the channels, in the order of the configuration.
    /// - Throws: an error that affects all channels.
    package func channels(
        of configuration: ProxyConfiguration,
        keeping present: [ChannelRecord],
        at occasion: AssembledChannels.Occasion
    ) async throws -> AssembledChannels {
        secrets.forget()
        defer { secrets.forget() }
        if let objection = FileTrust.objection(toDirectory: stateDirectory) {
            report("warning: state: \(objection)")
        }
        // An error here affects the daemon, not one channel.
        try await oauthClients.prepareState(for: configuration.channels)
        let readings = await inputs.read(
            configuration,
            knowing: present.servers,
            patience: occasion.patience
        )
        try Task.checkCancellation()
        var assembled = AssembledChannels()
        var known = PresentChannels(present)
        let paces = Paces(of: configuration.channels, readings)
        for (index, (wanted, pending)) in zip(configuration.channels, readings).enumerated() {
            var made = await channel(wanted, pending.ended, keeping: &known)
            if occasion == .reload, made.reasons == nil { made.reasons = [ChannelOutage.late] }
            let channel =
                try made.channel ?? refusing(wanted, because: made.reasons, at: paces[index])
            assembled.add(channel, of: wanted, pending, lacking: made.reasons, at: paces[index])
        }
        SharedSeeds.warnings(among: assembled.channels, besides: present).forEach(report)
        return assembled
    }

    /// Assembles a channel from a reading, or returns the unchanged channel.
    ///
    /// - Parameters:
    ///   - wanted: the channel's configuration.
    ///   - reading: the read values; `nil` if the reading has not ended.
    ///   - present: the channels in force; new credentials that channels can share are added.
    /// - Returns: the channel, `nil` if it cannot serve, and the reasons for missing values, `nil` if the
    ///   reading has not ended.
    private func channel(
        _ wanted: ChannelConfiguration,
        _ reading: ChannelReading?,
        keeping present: inout PresentChannels
    ) async -> (channel: ChannelRecord?, reasons: [String]?) {
        let earlier = present[wanted.name]
        let fallback = earlier.flatMap { $0.configuration.mayStand(inFor: wanted) ? $0 : nil }
        guard var reading else { return (fallback, nil) }
        var reasons = reading.reasons
        let isComplete = reading.fillIn(from: present.inputs)
        guard isComplete || wanted.canServe(with: reading.inputs) else {
            return (fallback, reasons)
        }
        if let earlier, earlier.configuration == wanted, earlier.inputs == reading.inputs {
            return (earlier, reasons + earlier.unusableCredentials)
        }
        secrets.hold(reading.inputs)
        do {
            let made = try await make(wanted, reading.inputs, &present, replacing: earlier)
            return (made, reasons + made.unusableCredentials)
        } catch {
            let reason = (error as? SecretError)?.outcome ?? "\(error)"
            if !reasons.contains(reason) { reasons.append(reason) }
            return (fallback, reasons)
        }
    }

    /// Assembles a channel again after its inputs were read again.
    ///
    /// - Parameters:
    ///   - outage: the outage of the channel.
    ///   - reading: the read values.
    ///   - present: the channels in force.
    /// - Returns: the channel, `nil` if it cannot serve, and the reasons for missing values.
    package func channel(
        after outage: ChannelOutage,
        _ reading: ChannelReading,
        keeping present: [ChannelRecord]
    ) async -> (channel: ChannelRecord?, reasons: [String]) {
        secrets.forget()
        defer { secrets.forget() }
        var known = PresentChannels(present)
        let made = await channel(outage.configuration, reading, keeping: &known)
        if let channel = made.channel {
            let next = present.map { $0.name == channel.name ? channel : $0 }
            SharedSeeds.warnings(among: next, besides: present).forEach(report)
        }
        return (made.channel, made.reasons ?? [])
    }

    /// Returns a channel that refuses its requests until its secrets and files have been read.
    private func refusing(
        _ wanted: ChannelConfiguration,
        because reasons: [String]?,
        at pace: RecoveryPace
    ) throws -> ChannelRecord {
        // The key is random, so no client can open a channel whose `access.key` is missing.
        let key = wanted.access.key.map { _ in ClientKeys.makeUnknown() }
        return try ChannelRecord(
            ChannelOutage(of: wanted, .refused, because: reasons, pace: pace),
            access: AccessPolicy(wanted, key: key, lending: clientKeys),
            log: logs.log(LogLabels(wanted))
        )
    }

    /// Whether the stored sign-in of a channel differs from the one in force; `false` if the store cannot be
    /// read.
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
        _ present: inout PresentChannels,
        replacing earlier: ChannelRecord?
    ) async throws -> ChannelRecord {
        var key: Secret?
        if let reference = configuration.access.key { key = try await secrets.secret(reference) }
        let log = logs.log(LogLabels(configuration))
        if configuration.stub != nil {
            report("channel \(configuration.name): answers from its stub, no upstream is contacted")
        }
        return try ChannelRecord(
            configuration,
            inputs,
            accounts: try await accounts(of: configuration, inputs, among: &present, log: log),
            gate: (
                AccessPolicy(configuration, key: key, lending: clientKeys),
                limiter(configuration.rate, replacing: earlier?.rules.limiter)
            ),
            log: log,
            spillDirectory: stateDirectory,
            environment: environment
        )
    }

    /// Returns a channel's rate limiter; the earlier one continues to count if `rate` has not changed.
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

extension [ChannelRecord] {
    /// The servers of the stored sign-ins, by channel.
    package var servers: [String: PinnedServer] {
        reduce(into: [:]) { $0[$1.name] = $1.inputs.pinned }
    }
}

extension ChannelRecord {
    /// The reasons for credentials that are unusable although their secrets were read.
    fileprivate var unusableCredentials: [String] {
        accounts.filter { $0.credential.isRead(in: inputs) }.compactMap(\.missing)
    }
}

extension AccessPolicy {
    /// Creates the access policy of a channel.
    ///
    /// - Parameters:
    ///   - channel: the channel's configuration.
    ///   - key: the value of `access.key`.
    ///   - keys: the keys lent to programs.
    fileprivate convenience init(
        _ channel: ChannelConfiguration,
        key: Secret?,
        lending keys: ClientKeys
    ) {
        self.init(
            hosts: channel.access.hosts,
            origins: channel.access.origins,
            stake: channel.hasCredential ? .credential : .nothing,
            users: channel.access.users,
            key: key,
            place: channel.credentialPlace,
            lent: (channel.name, keys),
            unknownKeys: channel.credentials.count > 1 ? .refused : .ignored
        )
    }
}

extension LogLabels {
    /// Creates the labels of a channel.
    fileprivate init(_ channel: ChannelConfiguration) {
        self.init(
            channel: channel.name,
            subsystem: channel.log.subsystem,
            category: channel.log.category,
            query: channel.log.query,
            headers: channel.log.headers.compactMap { HTTPFieldName($0) },
            credentialFields: channel.credentialFields,
            credentialParameter: channel.credentialPlace?.parameter?.name
        )
    }
}
