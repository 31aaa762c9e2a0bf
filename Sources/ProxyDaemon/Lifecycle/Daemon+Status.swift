import EventIO
import NetworkCore
import OAuth
import ProxyConfig
import RequestLog
import System

/// What the daemon knows of itself.
extension Daemon {
    /// The OAuth manager of a channel, if it has one.
    func tokens(of channel: String) -> OAuthManager? {
        channels.first { $0.name == channel }?.authorizer?.engine
    }

    /// What some loop remembers of the exchange with this id or, where none has it, of the youngest to
    /// which an app gave it.
    func recentExchange(_ requestID: String) async -> RecentExchange? {
        if let own = await recentExchanges(.own, requestID).first { return own }
        return await recentExchanges(.client, requestID)
            .map { (time: LogLine($0.line)?.time ?? "", exchange: $0) }
            .max { $0.time < $1.time }?.exchange
    }

    private func recentExchanges(
        _ key: RecentExchanges.Key,
        _ id: String
    ) async -> [RecentExchange] {
        var found: [RecentExchange] = []
        for worker in workers {
            if let exchange = await worker.call({ $0.recentExchange(key, id) }) {
                found.append(exchange)
            }
        }
        return found
    }

    /// Adds up what the loops know.
    func status() async -> DaemonStatus {
        var counters: [String: ChannelCounters] = [:]
        var pools: [String: DaemonStatus.Pool] = [:]
        var (connections, unclaimed, polled) = (0, ChannelCounters(), UInt64())
        for worker in workers {
            let report = await worker.call { worker in
                (
                    worker.connectionCount, worker.unclaimed,
                    worker.table.channels.map { ($0.name, $0.tally.counters, $0.poolCounts) },
                    worker.loop.timePolled
                )
            }
            connections += report.0
            unclaimed = unclaimed + report.1
            polled += report.3
            for (name, counted, pool) in report.2 {
                counters[name] = counters[name, default: ChannelCounters()] + counted
                let sum = pools[name] ?? DaemonStatus.Pool(open: 0, idle: 0, queued: 0)
                pools[name] = DaemonStatus.Pool(
                    open: sum.open + pool.open,
                    idle: sum.idle + pool.idle,
                    queued: sum.queued + pool.queued
                )
            }
        }
        var list: [DaemonStatus.ChannelStatus] = []
        for channel in channels {
            let counted = counters[channel.name] ?? ChannelCounters()
            list.append(
                DaemonStatus.ChannelStatus(
                    name: channel.name,
                    upstream: channel.upstream,
                    furtherUpstreams: channel.furtherUpstreams,
                    token: await token(of: channel),
                    pool: pools[channel.name] ?? DaemonStatus.Pool(open: 0, idle: 0, queued: 0),
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
        return DaemonStatus(
            uptimeS: DaemonStatus.tenths(started.duration(to: .now)),
            state: isStopping ? "draining" : "serving",
            listen: addresses.map(\.description),
            workers: loops.count,
            connections: connections,
            connectionsRefused: connectionCount.refused,
            logLinesDropped: assembly?.logs.droppedLines ?? 0,
            configuration: inForce,
            process: await process(polled: polled),
            unclaimed: unclaimed.statuses,
            channels: list
        )
    }

    private var inForce: DaemonStatus.Configuration {
        DaemonStatus.Configuration(
            file: configuration.file,
            loadedS: loadedAt ?? startedAt,
            refusedS: refusedReload?.at,
            refusal: refusedReload?.reasons
        )
    }

    private func process(polled: UInt64) async -> DaemonStatus.Process {
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

    private func token(of channel: ChannelShared) async -> DaemonStatus.Token? {
        guard let manager = channel.authorizer?.engine else { return nil }
        let status = await manager.status()
        let requests = assembly?.tokenRequests.counts(of: channel.name)
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
            advice: status.state == .dead ? channel.configuration.signIn : nil,
            renewals: requests?.renewals,
            failures: requests?.failures
        )
    }

    /// Why the daemon should get no traffic; nothing while it should.
    var reasonsNotReady: [String] {
        if isStopping { return ["draining"] }
        if workers.isEmpty { return ["starting"] }
        return listeners.isEmpty ? ["no listener"] : []
    }
}

extension OAuthFailure {
    /// The detail, with the server's own word in front if the detail has it not.
    fileprivate var words: String {
        guard let serverError, !detail.contains(serverError) else { return detail }
        return "\(serverError): \(detail)"
    }
}

extension DaemonStatus {
    /// Seconds, in tenths.
    fileprivate static func tenths(_ duration: Duration) -> Double {
        (duration.seconds * 10).rounded() / 10
    }
}
