import NetproxyEventIO
import NetproxyPath
import NetproxyRequestLog

/// The workers of the daemon, one on each event loop.
struct WorkerPool: Sendable {
    let workers: [LoopBound<Worker>]

    /// The pool before the start and after the end.
    package static let empty = WorkerPool(workers: [])

    private init(workers: [LoopBound<Worker>]) {
        self.workers = workers
    }

    /// Creates a worker on each loop, with the channels of a plan.
    init(
        on loops: [EventLoop],
        sharing shared: Worker.Shared,
        limits: Worker.Limits,
        requests: UpstreamRequest,
        plan: ChannelTablePlan
    ) async {
        var workers: [LoopBound<Worker>] = []
        for loop in loops {
            workers.append(
                await loop.call { loop in
                    Worker(
                        loop,
                        sharing: shared,
                        limits: limits,
                        requests: requests,
                        table: plan.table(on: loop)
                    )
                }
            )
        }
        self.workers = workers
    }

    // MARK: - Listening

    /// Accepts from a socket on every loop.
    func listen(on served: ServedAddress) async throws(IOError) {
        for worker in workers {
            let failure = await worker.call { worker -> IOError? in
                do throws(IOError) {
                    try worker.listen(
                        on: served.socket.socket,
                        number: served.number,
                        channel: served.channel
                    )
                    return nil
                } catch {
                    return error
                }
            }
            if let failure { throw failure }
        }
    }

    /// Stops accepting from a socket; its connections end after their exchange, at the latest after `limit`.
    func stopListening(on served: ServedAddress, within limit: Duration) async {
        // Capture only the number: a loop releases the closure after its response, but the socket must be
        // closed by then.
        let number = served.number
        for worker in workers {
            await worker.call { $0.stopListening(number, within: limit) }
        }
    }

    // MARK: - Reloading

    /// Puts new channels and limits in force, and assigns listeners to their new owners.
    func install(
        _ plan: ChannelTablePlan,
        limits: Worker.Limits,
        moving: [ServedAddress]
    ) async {
        for worker in workers {
            // Prepare in slices: a loop serves no client while it creates a thousand channels.
            for start in stride(from: 0, to: plan.channels.count, by: Worker.sliceLength) {
                let end = min(start + Worker.sliceLength, plan.channels.count)
                let slice = plan.channels[start..<end]
                await worker.call { $0.prepare(slice, loops: plan.loops) }
            }
            await worker.call { worker in
                worker.apply(limits)
                worker.install(
                    plan.table(
                        on: worker.loop,
                        keeping: worker.table,
                        prepared: worker.takePrepared()
                    )
                )
                for served in moving { worker.give(served.number, to: served.channel) }
            }
        }
    }

    // MARK: - Ending

    /// Stops accepting, and returns when all connections have ended or the time is over.
    func drain(within limit: Duration) async {
        // Stop accepting on every loop first, so that no loop passes a connection to one that has drained.
        for worker in workers { await worker.call { $0.stopAccepting() } }
        await onEachWorker(within: limit) { $0.drain($1) }
    }

    /// Ends all connections; each exchange has a moment to write its record.
    func cut() async {
        await onEachWorker(within: .seconds(1)) { $0.cut($1) }
    }

    /// Writes the logs.
    func close() async {
        for worker in workers { await worker.call { $0.close() } }
    }

    /// Starts an action on every loop, and returns when all have called back or the time is over.
    private func onEachWorker(
        within limit: Duration,
        _ body: @escaping @Sendable (Worker, @escaping () -> Void) -> Void
    ) async {
        await withTaskGroup(of: Void.self) { group in
            for worker in workers {
                group.addTask { await worker.wait(atMost: limit, for: body) }
            }
        }
    }

    // MARK: - Exchanges and figures

    /// Returns the remembered exchange with this id, or the last one for which a client chose the id.
    func recentExchange(_ requestID: String) async -> RecentExchange? {
        if let own = await recentExchanges(.own, requestID).first { return own }
        return await recentExchanges(.client, requestID)
            .map { (time: LogLine($0.line)?.time ?? "", exchange: $0) }
            .max { $0.time < $1.time }?.exchange
    }

    /// Returns the latest exchange that failed, was refused or was sent again, of a channel or of all.
    func newestTroubled(in channel: String?) async -> RecentExchange? {
        var newest: (end: Int64, exchange: RecentExchange)?
        for worker in workers {
            guard let exchange = await worker.call({ $0.newestTroubled(in: channel) }) else {
                continue
            }
            let end = LogLine(exchange.line)?.end ?? 0
            if newest.map({ end > $0.end }) ?? true { newest = (end, exchange) }
        }
        return newest?.exchange
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

    /// Returns the exchanges that the loops remember.
    func rememberedExchanges() async -> RememberedExchanges {
        var bytes: [UInt8] = []
        for worker in workers { bytes += await worker.call { $0.rememberedLines } }
        return await RememberedExchanges(bytes)
    }

    /// Returns the counts of all loops, added up.
    func figures() async -> WorkerFigures {
        var sum = WorkerFigures()
        for worker in workers { sum.add(await worker.call(WorkerFigures.init)) }
        return sum
    }
}

/// The counts of one or more workers since the start.
struct WorkerFigures: Sendable {
    private(set) var connections = 0
    /// The counts of exchanges without a channel.
    private(set) var unclaimed = ChannelCounters()
    private(set) var counters: [String: ChannelCounters] = [:]
    private(set) var pools: [String: PoolCounts] = [:]
    private(set) var nanosecondsPolled: UInt64 = 0

    init() {}

    /// Reads the counts of a worker; call it on its loop.
    init(_ worker: Worker) {
        connections = worker.connectionCount
        unclaimed = worker.unclaimed
        nanosecondsPolled = worker.loop.timePolled
        for channel in worker.table.channels {
            counters[channel.name] = channel.tally.counters
            pools[channel.name] = channel.poolCounts
        }
    }

    /// Adds the counts of another worker.
    mutating func add(_ other: WorkerFigures) {
        connections += other.connections
        unclaimed = unclaimed + other.unclaimed
        nanosecondsPolled += other.nanosecondsPolled
        counters.merge(other.counters, uniquingKeysWith: +)
        pools.merge(other.pools, uniquingKeysWith: +)
    }
}
