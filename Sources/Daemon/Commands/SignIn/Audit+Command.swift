import FoundationEssentials
package import NetproxyChannels
package import NetproxyConfig
import NetproxyEventIO
import NetproxyRequestLog
import NetproxySystem

extension Audit {
    /// The maximum time that a command waits for the disk.
    private static let patience = Duration.seconds(2)

    /// Writes the audit line for an action of this process, a command without a daemon.
    ///
    /// A log on the daemon's standard output cannot be written from another process.
    ///
    /// - Parameters:
    ///   - channel: the channel of the action.
    ///   - settings: the log settings.
    ///   - report: receives a message if the line cannot be written.
    package func recordHere(
        of channel: String,
        in settings: LogSettings,
        report: @escaping OperatorReport
    ) async {
        guard settings.output != .stdout else { return }
        // Only the daemon rotates logs.
        var settings = settings
        settings.rotate = nil
        let peer = SocketPeer(address: "command", process: .own)
        do {
            let logs = try ChannelLogs(settings, report: report)
            logs.log(LogLabels()).write(record(of: [channel], by: peer))
            await logs.finish(within: Audit.patience)
        } catch {
            report("no audit line was written: \(error)")
        }
    }
}

extension PeerProcess {
    fileprivate static var own: PeerProcess {
        PeerProcess(
            userID: FileTrust.user,
            processID: ProcessInfo.processInfo.processIdentifier
        )
    }
}
