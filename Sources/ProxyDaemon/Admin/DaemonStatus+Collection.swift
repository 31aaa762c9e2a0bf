import EventIO
import NetworkCore
import OAuth
import System

extension DaemonStatus.Process {
    /// The figures of this process.
    static func current(startedAt: Double, polled: UInt64) async -> DaemonStatus.Process {
        // Not on the loop whose task asks: with ten thousand descriptors it would stand for 10 ms.
        let figures = await Task(executorPreference: globalConcurrentExecutor) { ProcessFigures() }
            .value
        return DaemonStatus.Process(
            startS: startedAt,
            cpuS: figures.cpuSeconds,
            polledS: Double(polled) / 1e9,
            residentBytes: figures.residentBytes,
            descriptors: figures.descriptors,
            descriptorLimit: figures.descriptorLimit
        )
    }
}

extension ChannelSet {
    /// The state of each channel, with what the loops have counted.
    func status(
        _ figures: WorkerFigures,
        tokenRequests: TokenRequests?
    ) async -> [DaemonStatus.ChannelStatus] {
        var list: [DaemonStatus.ChannelStatus] = []
        for channel in channels {
            let counted = figures.counters[channel.name] ?? ChannelCounters()
            list.append(
                DaemonStatus.ChannelStatus(
                    name: channel.name,
                    upstream: channel.upstream,
                    furtherUpstreams: channel.furtherUpstreams,
                    token: await channel.tokenStatus(tokenRequests?.counts(of: channel.name)),
                    pool: figures.pools[channel.name] ?? DaemonStatus.Pool(),
                    requests: counted.requests,
                    errors: counted.errors.values.reduce(0, +),
                    errorsByWord: counted.errorWords,
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

extension ChannelShared {
    /// The state of the channel's token, if it has one.
    fileprivate func tokenStatus(_ requests: TokenRequests.Counts?) async -> DaemonStatus.Token? {
        guard let manager = authorizer?.engine else { return nil }
        let status = await manager.status()
        return DaemonStatus.Token(
            state: status.state.rawValue,
            generation: status.generation == 0 ? nil : status.generation,
            ageS: status.age.map(DaemonStatus.tenths),
            expiresInS: status.expiresIn.map(DaemonStatus.tenths),
            refreshExpiresInS: status.refreshExpiresIn.map(DaemonStatus.tenths),
            scope: status.scope,
            isUnsaved: status.isUnsaved ? true : nil,
            waiters: status.waiters,
            lastError: status.lastFailure?.words,
            nextAttemptS: status.nextAttempt.map(DaemonStatus.tenths),
            advice: status.state == .dead ? configuration.signIn : nil,
            renewals: requests?.renewals,
            failures: requests?.failures
        )
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
