import NetproxyChannels
import NetproxyConfig
import NetproxyEtcdStore
import NetproxyEventIO
import NetproxyPath
import NetproxyRequestLog
import NetproxySystem
import NetworkCore
import OAuth

/// Creates the members of `/status` from the counts of the loops.
struct StatusCollector {
    let figures: WorkerFigures
    let tokenRequests: TokenRequests?

    /// Returns the figures of this process; `startedAt` is its start time in seconds since 1970.
    func process(startedAt: Double) async -> DaemonStatus.Process {
        // Do not run this on the caller's loop: with 10,000 descriptors it takes 10 ms.
        let used = await OffLoop.compute { ProcessFigures() }
        return DaemonStatus.Process(
            startS: startedAt,
            cpuS: used.cpuSeconds,
            polledS: Double(figures.nanosecondsPolled) / 1e9,
            residentBytes: used.residentBytes,
            descriptors: used.descriptors,
            descriptorLimit: used.descriptorLimit
        )
    }

    /// Returns the state of each channel.
    func channels(
        _ channels: [ChannelRecord],
        _ outages: [ChannelOutage],
        _ entrances: Entrances
    ) async -> [DaemonStatus.ChannelStatus] {
        var list: [DaemonStatus.ChannelStatus] = []
        let now = WallTime.now
        let outages = Dictionary(
            outages.map { ($0.name, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        for channel in channels {
            let counted = figures.counters[channel.name] ?? ChannelCounters()
            let outage = outages[channel.name]
            var token: DaemonStatus.Token?
            if channel.accounts.count == 1 { token = await self.token(of: channel.accounts[0]) }
            token?.wantedScope = channel.rules.wantedScope?.text
            let outcome = counted.outcome
            list.append(
                DaemonStatus.ChannelStatus(
                    name: channel.name,
                    upstream: channel.rules.upstream,
                    furtherUpstreams: channel.rules.furtherUpstreams,
                    url: entrances.url(of: channel.name),
                    state: DaemonStatus.State(channel.outage, token, outcome),
                    refuses: channel.outage == nil ? nil : true,
                    failure: outcome.current.map { DaemonStatus.Failure($0, at: now) },
                    successAgeS: outcome.success.map { DaemonStatus.tenths(since: $0, now) },
                    reason: outage?.reason,
                    nextAttemptS: outage?.pace.untilNext.map(DaemonStatus.tenths),
                    token: token,
                    identities: channel.identities,
                    resting: channel.resting,
                    pool: figures.pools[channel.name] ?? PoolCounts(),
                    requests: counted.requests,
                    errors: counted.errors.values.reduce(0, +),
                    errorsByWord: counted.errorWords,
                    callsByStatus: counted.callNames,
                    retries: counted.retries,
                    statuses: counted.statuses,
                    bytesIn: counted.bytesIn,
                    bytesOut: counted.bytesOut,
                    durations: DaemonStatus.Durations(counted.durations),
                    firstBytes: DaemonStatus.Durations(counted.firstBytes)
                )
            )
        }
        return list
    }
}

extension StatusCollector {
    /// Returns the state of each identity, in the order in which channels name them.
    func identities(_ channels: [ChannelRecord]) async -> [DaemonStatus.Identity]? {
        var list: [DaemonStatus.Identity] = []
        var seen: Set<ObjectIdentifier> = []
        for channel in channels {
            for credential in channel.configuration.credentials {
                guard let name = credential.identity else { continue }
                var index = list.firstIndex { $0.name == name } ?? list.endIndex
                if index == list.endIndex {
                    list.append(DaemonStatus.Identity(name: name, channels: []))
                    index = list.endIndex - 1
                }
                list[index].channels.append(channel.name)
                // A channel that refuses its requests has no accounts.
                guard let account = channel.accounts.first(where: { $0.credential == credential }),
                    let engine = account.engine,
                    seen.insert(ObjectIdentifier(engine)).inserted,
                    let token = await token(of: account)
                else { continue }
                if account.credential.isNarrowed {
                    list[index].narrowed = (list[index].narrowed ?? []) + [token]
                } else {
                    list[index].token = token
                }
            }
        }
        return list.isEmpty ? nil : list
    }

    /// Returns the state of a credential's token, if it has one.
    private func token(of account: ChannelAccount) async -> DaemonStatus.Token? {
        guard let manager = account.engine else { return nil }
        let status = await manager.status()
        let credential = account.credential
        let requests = tokenRequests?.counts(of: credential.name)
        return DaemonStatus.Token(
            state: status.state.rawValue,
            generation: status.generation == 0 ? nil : status.generation,
            ageS: status.age.map(DaemonStatus.tenths),
            expiresInS: status.expiresIn.map(DaemonStatus.tenths),
            refreshExpiresInS: status.refreshExpiresIn.map(DaemonStatus.tenths),
            scope: status.scope,
            issuer: account.inputs.pinned?.issuer,
            client: account.inputs.pinned?.client.id,
            clientKind: account.inputs.pinned?.client.kind.rawValue,
            resource: account.inputs.pinned?.resource,
            otherResource: account.inputs.otherResource,
            isUnsaved: status.isUnsaved ? true : nil,
            storeFault: status.storeFault?.rawValue,
            faults: requests.map { requests in
                let counts = StoreFault.allCases.map {
                    ($0.rawValue, requests.storeFaults[$0] ?? 0)
                }
                return Dictionary(uniqueKeysWithValues: counts)
            },
            waiters: status.waiters,
            lastError: status.lastFailure?.words,
            nextAttemptS: status.nextAttempt.map(DaemonStatus.tenths),
            advice: credential.needsSignIn(status) ? credential.signIn : nil,
            renewals: requests?.renewals,
            failures: requests?.failures,
            excesses: requests?.excesses
        )
    }
}

extension DaemonStatus.Configuration {
    /// Creates the member of `/status`.
    init(_ inForce: ConfigurationInForce) {
        self.init(
            file: inForce.current.file,
            loadedS: inForce.loadedAt,
            refusedS: inForce.refusal?.at,
            refusal: inForce.refusal?.reasons
        )
    }
}

extension DaemonStatus.Durations {
    /// Creates the member of `/status`; `nil` if nothing was counted.
    init?(_ counted: DurationHistogram) {
        let buckets = counted.buckets.map { Bucket(withinS: $0.bound, count: $0.count) }
        guard let last = buckets.last, last.count > 0 else { return nil }
        self.init(buckets: buckets, sumS: counted.seconds)
    }
}

extension DaemonStatus.Store {
    /// Creates the member of `/status` from the state of etcd.
    init(_ standing: EtcdClient.Standing) {
        let counts = EtcdFault.Kind.allCases.map { ($0.rawValue, standing.counts[$0] ?? 0) }
        self.init(
            kind: "etcd",
            fault: standing.fault?.kind.rawValue,
            detail: standing.fault?.detail,
            faults: Dictionary(uniqueKeysWithValues: counts)
        )
    }
}

extension ChannelRecord {
    /// The remaining cool-downs of credentials in seconds, by name.
    fileprivate var resting: [String: Double]? {
        let now = ContinuousClock.now
        let rests = zip(accounts, rules.stack.rests).compactMap { account, rest in
            rest.end(at: now).map { (account.credential.name, DaemonStatus.tenths($0 - now)) }
        }
        return rests.isEmpty ? nil : Dictionary(rests) { first, _ in first }
    }

    /// The identities that the channel uses, if any.
    fileprivate var identities: [String]? {
        let names = configuration.credentials.compactMap(\.identity)
        return names.isEmpty ? nil : names
    }
}

extension CredentialConfiguration {
    /// Whether no request gets a token until someone signs in, again or for the first time.
    fileprivate func needsSignIn(_ status: OAuthStatus) -> Bool {
        guard let settings = oauth else { return false }
        return switch (status.state, settings.grant) {
        case (.dead, _): true
        case (.empty, .authorizationCode), (.empty, .deviceCode), (.empty, .refreshToken):
            settings.refreshToken == nil && !status.hasRefreshToken
        default: false
        }
    }
}

extension OAuthFailure {
    /// The detail, preceded by the server's own error code if the detail does not contain it.
    fileprivate var words: String {
        guard let serverError, !detail.contains(serverError) else { return detail }
        return "\(serverError): \(detail)"
    }
}

extension DaemonStatus.State {
    /// Derives the state of a channel from its inputs, its token and its newest results.
    fileprivate init(
        _ outage: ChannelOutage?,
        _ token: DaemonStatus.Token?,
        _ outcome: ChannelOutcome
    ) {
        if let outage {
            self = outage.isStarting ? .starting : .failed
        } else if token?.advice != nil {
            self = .signIn
        } else if outcome.current != nil || token?.state == "failed" {
            self = .failed
        } else {
            self = outcome.success == nil ? .idle : .working
        }
    }
}

extension DaemonStatus.Failure {
    fileprivate init(_ failure: ChannelOutcome.Failure, at now: WallTime) {
        self.init(
            ageS: DaemonStatus.tenths(since: failure.time, now),
            status: failure.status?.rawValue,
            error: failure.error?.rawValue,
            detail: failure.detail
        )
    }
}

extension ChannelOutcome.Failure {
    /// The explanation, as a clause.
    fileprivate var detail: String {
        let code = status.map { "\($0.rawValue)" }
        if isRefusedCredential {
            return "the API refused the channel's credential (\(code ?? "UNAUTHENTICATED"))"
        }
        if let error { return "netproxy responded with \(code ?? "no status"): \(error.rawValue)" }
        return "the API responded with \(code ?? "no status")"
    }
}

extension DaemonStatus {
    /// Returns the seconds between two times, rounded to tenths; at least zero.
    static func tenths(since start: WallTime, _ end: WallTime) -> Double {
        let seconds =
            Double(end.seconds - start.seconds) + Double(end.microseconds - start.microseconds)
            / 1e6
        return max(0, (seconds * 10).rounded() / 10)
    }

    /// Returns the duration in seconds, rounded to tenths.
    static func tenths(_ duration: Duration) -> Double {
        (duration.seconds * 10).rounded() / 10
    }
}

extension Daemon {
    /// Returns the state of the daemon, summed over the loops.
    func status() async -> DaemonStatus {
        let figures = await workers.figures()
        let collector = StatusCollector(
            figures: figures,
            tokenRequests: assembly?.tokenRequests
        )
        return DaemonStatus(
            uptimeS: DaemonStatus.tenths(started.duration(to: .now)),
            state: state.word,
            listen: addresses.map(\.description),
            workers: loops.count,
            connections: figures.connections,
            connectionsRefused: shared.connectionCount.refused,
            logLinesDropped: assembly?.logs.droppedLines ?? 0,
            configuration: DaemonStatus.Configuration(inForce),
            process: await collector.process(startedAt: startedAt),
            unclaimed: figures.unclaimed.statuses,
            store: assembly?.oauthClients.state.standing.map(DaemonStatus.Store.init),
            identities: await collector.identities(channels.channels),
            channels: await collector.channels(
                channels.channels,
                outages,
                Entrances(inForce.current)
            )
        )
    }
}
