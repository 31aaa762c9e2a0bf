import NetproxyConfig
import NetproxyEtcdStore
import NetproxyEventIO
import NetproxySystem
import NetworkCore
import OAuth

/// Makes the members of `/status` of what the loops have counted.
struct StatusCollector {
    let figures: WorkerFigures
    let tokenRequests: TokenRequests?

    /// Returns the figures of this process, which was started at a time in seconds since 1970.
    func process(startedAt: Double) async -> DaemonStatus.Process {
        // Not on the loop whose task asks: with ten thousand descriptors it would stand for 10 ms.
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
    func channels(_ channels: [ChannelShared]) async -> [DaemonStatus.ChannelStatus] {
        var list: [DaemonStatus.ChannelStatus] = []
        for channel in channels {
            let counted = figures.counters[channel.name] ?? ChannelCounters()
            var token: DaemonStatus.Token?
            if channel.accounts.count == 1 { token = await self.token(of: channel.accounts[0]) }
            token?.wantedScope = channel.wantedScope?.text
            list.append(
                DaemonStatus.ChannelStatus(
                    name: channel.name,
                    upstream: channel.upstream,
                    furtherUpstreams: channel.furtherUpstreams,
                    token: token,
                    identities: channel.identities,
                    resting: channel.resting,
                    pool: figures.pools[channel.name] ?? DaemonStatus.Pool(),
                    requests: counted.requests,
                    errors: counted.errors.values.reduce(0, +),
                    errorsByWord: counted.errorWords,
                    callsByStatus: counted.callNames,
                    retries: counted.retries,
                    statuses: counted.statuses,
                    bytesIn: counted.bytesIn,
                    bytesOut: counted.bytesOut,
                    durations: counted.durations.status,
                    firstBytes: counted.firstBytes.status
                )
            )
        }
        return list
    }
}

extension StatusCollector {
    /// Returns the state of each identity, in the order in which channels name them.
    func identities(_ channels: [ChannelShared]) async -> [DaemonStatus.Identity]? {
        var list: [DaemonStatus.Identity] = []
        var seen: Set<ObjectIdentifier> = []
        for channel in channels {
            for account in channel.accounts {
                guard let name = account.identity else { continue }
                var index = list.firstIndex { $0.name == name } ?? list.endIndex
                if index == list.endIndex {
                    list.append(DaemonStatus.Identity(name: name, channels: []))
                    index = list.endIndex - 1
                }
                list[index].channels.append(channel.name)
                guard let engine = account.engine,
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
            waiters: status.waiters,
            lastError: status.lastFailure?.words,
            nextAttemptS: status.nextAttempt.map(DaemonStatus.tenths),
            advice: credential.needsSignIn(status) ? credential.signIn : nil,
            renewals: requests?.renewals,
            failures: requests?.failures
        )
    }
}

extension DaemonStatus.Store {
    /// How etcd serves.
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

extension ChannelShared {
    /// How long credentials are left alone, by name.
    fileprivate var resting: [String: Double]? {
        let now = ContinuousClock.now
        let rests = zip(accounts, stack.rests).compactMap { account, rest in
            rest.end(at: now).map { (account.credential.name, DaemonStatus.tenths($0 - now)) }
        }
        return rests.isEmpty ? nil : Dictionary(rests) { first, _ in first }
    }

    /// The identities that the channel uses, if it uses any.
    fileprivate var identities: [String]? {
        let names = accounts.compactMap(\.identity)
        return names.isEmpty ? nil : names
    }
}

extension OAuthFailure {
    /// The detail, after the server's own error code if the detail does not have it.
    fileprivate var words: String {
        guard let serverError, !detail.contains(serverError) else { return detail }
        return "\(serverError): \(detail)"
    }
}

extension DaemonStatus {
    /// Seconds, rounded to tenths.
    static func tenths(_ duration: Duration) -> Double {
        (duration.seconds * 10).rounded() / 10
    }
}
