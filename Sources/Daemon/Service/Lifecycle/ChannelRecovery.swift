import NetproxyChannels
import NetproxyConfig
import NetproxyPath
import NetproxyRequestLog
import OAuth

/// Reads missing secrets and files of channels again until they have values; the other channels serve.
///
/// Not `Sendable`: it never leaves the daemon's actor.
final class ChannelRecovery {
    private let assembly: ChannelAssembly
    private let report: OperatorReport
    /// Called after each attempt to read the secrets and files of a channel.
    private let onReading: @Sendable (ChannelOutage, ChannelReading) async -> Void
    private(set) var outages: [ChannelOutage] = []
    private var tasks: [Task<Void, Never>] = []
    /// The end of all canceled tasks, whose helper programs may still run.
    private var canceled: Task<Void, Never>?
    /// The finished readings that are not in force yet.
    private var readings: [(outage: ChannelOutage, reading: ChannelReading)] = []

    init(
        _ assembly: ChannelAssembly,
        report: @escaping OperatorReport,
        onReading: @escaping @Sendable (ChannelOutage, ChannelReading) async -> Void
    ) {
        self.assembly = assembly
        self.report = report
        self.onReading = onReading
    }

    // MARK: - Outages

    /// Replaces the outages, reports the new ones, and starts the attempts to end them.
    ///
    /// - Parameters:
    ///   - recoveries: the outages and their first readings.
    ///   - channels: the channels in force.
    ///   - configuration: the configuration in force.
    func begin(
        _ recoveries: [AssembledChannels.Recovery],
        among channels: [ChannelRecord],
        of configuration: ProxyConfiguration
    ) {
        let before = outages.map { (name: $0.name, line: $0.line) }
        let lines = Set(before.map(\.line))
        end()
        outages = recoveries.map(\.outage)
        let servers = channels.servers
        let groups = Dictionary(grouping: recoveries) { ObjectIdentifier($0.outage.pace) }
        tasks = groups.values.map { group in
            let attempts = RecoveryAttempts(
                group: group,
                assembly: assembly,
                configuration: configuration,
                servers: servers,
                onReading: onReading
            )
            return Task { await attempts.run() }
        }
        for recovery in recoveries where !recovery.outage.isStarting {
            let line = recovery.outage.line
            guard !lines.contains(line) else { continue }
            announce(recovery.outage, words: recovery.words)
        }
        let served = Set(channels.map(\.name)).subtracting(outages.map(\.name))
        for name in before.map(\.name) where served.contains(name) { announceEnd(of: name) }
    }

    /// Ends all attempts and outages.
    func end() {
        for task in tasks { task.cancel() }
        for outage in outages { outage.end() }
        // A reload's canceled tasks may still run when the daemon stops.
        canceled = Task { [canceled, tasks] in
            await canceled?.value
            await waitForEnd(of: tasks)
        }
        (tasks, outages, readings) = ([], [], [])
    }

    /// Returns when the helper programs of ended attempts have ended.
    func waitUntilEnded() async {
        await canceled?.value
        canceled = nil
    }

    /// Returns when every channel serves or has failed to read its secrets and files.
    ///
    /// A slow reading counts as failed.
    func waitForFirstAttempts() async {
        for outage in outages {
            await outage.waitForFirstAttempt()
            guard outage.isStarting else { continue }
            outage.note([ChannelOutage.late], outage.effect)
            announce(outage, words: [])
        }
    }

    // MARK: - Attempts

    /// Keeps a reading until `takeReadings`.
    func add(_ reading: ChannelReading, for outage: ChannelOutage) {
        guard !outage.isOver else { return }
        readings.append((outage, reading))
    }

    /// Returns the readings finished since the last call, without those of ended outages.
    func takeReadings() -> [(outage: ChannelOutage, reading: ChannelReading)] {
        defer { readings = [] }
        return readings.filter { !$0.outage.isOver }
    }

    /// Records the result of an attempt, and reports a change.
    ///
    /// - Parameters:
    ///   - reasons: the reasons for missing values; empty if the channel has everything.
    ///   - effect: the treatment of the channel's requests.
    ///   - outage: the outage of the channel.
    ///   - words: the error output of helper programs, for the operator.
    func note(
        _ reasons: [String],
        _ effect: ChannelOutage.Effect,
        of outage: ChannelOutage,
        words: [String]
    ) {
        guard !reasons.isEmpty else {
            outages.removeAll { $0 === outage }
            outage.end()
            return announceEnd(of: outage.name)
        }
        let line = outage.line
        outage.note(reasons, effect)
        if outage.line != line { announce(outage, words: words) }
    }

    // MARK: - Reports

    private func announce(_ outage: ChannelOutage, words: [String]) {
        let said = words.isEmpty ? "" : " (said: \(words.joined(separator: "; ")))"
        report(outage.line + said)
        let (level, message): (LogLevel, String) =
            switch outage.effect {
            case .refused: (.error, "a channel refuses its requests")
            case .servedAsBefore: (.warning, "a channel uses values read before")
            }
        assembly.ownLog.write(
            EventRecord(
                time: .now,
                level: level,
                event: .daemon,
                message: message,
                facts: [("channel", .text(outage.name)), ("detail", .text(outage.reason))]
            )
        )
    }

    private func announceEnd(of channel: String) {
        report("channel \(channel): everything that it names has been read")
        assembly.ownLog.write(
            EventRecord(
                time: .now,
                event: .daemon,
                message: "a channel has everything that it names",
                facts: [("channel", .text(channel))]
            )
        )
    }
}

/// The attempts to read the secrets and files of channels with the same pace.
///
/// All channels are read concurrently, and each secret once.
private struct RecoveryAttempts: Sendable {
    let group: [AssembledChannels.Recovery]
    let assembly: ChannelAssembly
    let configuration: ProxyConfiguration
    let servers: [String: PinnedServer]
    let onReading: @Sendable (ChannelOutage, ChannelReading) async -> Void

    private var open: [ChannelOutage] { group.map(\.outage).filter { !$0.isOver } }

    /// Runs attempts until all outages have ended or the task is canceled.
    func run() async {
        await finishFirstReadings()
        while !Task.isCancelled, let pace = open.first?.pace {
            await pace.waitAfterFailure()
            guard !Task.isCancelled else { return }
            await attempt()
        }
    }

    /// Waits for the pending readings of a start or a reload.
    private func finishFirstReadings() async {
        await withTaskGroup(of: Void.self) { tasks in
            for case (let outage, let task?) in group.map({ ($0.outage, $0.reading) }) {
                tasks.addTask {
                    let reading = await withTaskCancellationHandler {
                        await task.value
                    } onCancel: {
                        task.cancel()
                    }
                    await finish(reading, of: outage)
                }
            }
        }
    }

    private func attempt() async {
        let secrets = SecretReader(assembly.secrets.resolver)
        await withTaskGroup(of: Void.self) { tasks in
            for outage in open {
                tasks.addTask {
                    let reading = await assembly.inputs.read(
                        outage.configuration,
                        of: configuration,
                        with: secrets,
                        knowing: servers[outage.name]
                    )
                    await finish(reading, of: outage)
                }
            }
        }
    }

    private func finish(_ reading: ChannelReading, of outage: ChannelOutage) async {
        // A canceled reading failed because of the cancellation.
        guard !Task.isCancelled else { return }
        await onReading(outage, reading)
    }
}
