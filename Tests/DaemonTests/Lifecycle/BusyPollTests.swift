import FoundationEssentials
import NetproxyConfig
import NetproxyEventIO
import Testing

@testable import NetproxyService

/// The effect of `busy_poll` on the event loops, at a start and at a reload.
@Suite struct BusyPollTests {
    @Test func `loops poll unless the active configuration says off`() async throws {
        let directory = FileManager.default.temporaryDirectory
            .appending(path: "netproxy-poll-\(UInt64.random(in: 0 ... .max))").path()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let next = try configuration("", in: directory)
        let daemon = Daemon(
            try configuration("busy_poll: off", in: directory),
            DaemonSetup(report: { _ in }, readConfiguration: { .success(next) })
        )
        try await daemon.start(handlesSignals: false)
        #expect(await mayPoll(daemon) == [false, false])
        _ = await daemon.reload()
        #expect(await mayPoll(daemon) == [true, true])
        await daemon.stop()
    }

    private func mayPoll(_ daemon: Daemon) async -> [Bool] {
        var answers: [Bool] = []
        for loop in await daemon.loops {
            answers.append(await Task(executorPreference: loop) { loop.mayPoll }.value)
        }
        return answers
    }

    private func configuration(_ root: String, in directory: String) throws -> ProxyConfiguration {
        try ConfigurationLoader.load(
            text: """
                listen: [127.0.0.1:0]
                admin: off
                workers: 2
                state: \(directory)/state
                log: { directory: \(directory)/log }
                channels: { orders: { stub: [{ status: 204 }] } }
                \(root)
                """,
            file: "n.yaml",
            environment: [:]
        ).get()
    }
}
