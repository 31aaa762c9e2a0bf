import FoundationEssentials
package import NetproxyChannels
package import NetproxyConfig
import NetproxyEventIO
import NetproxyRequestLog
import NetproxySystem

extension Audit {
    /// How long a disk may take before a command goes on.
    private static let patience = Duration.seconds(2)

    /// Writes the line of what this process itself does, as a command without a daemon.
    ///
    /// A log that goes to the daemon's standard output cannot be written from outside.
    ///
    /// - Parameters:
    ///   - channel: what it concerns.
    ///   - settings: where the log is.
    ///   - report: gets a line if it cannot be written.
    package func recordHere(
        of channel: String,
        in settings: LogSettings,
        report: @escaping OperatorReport
    ) async {
        guard settings.output != .stdout else { return }
        // The daemon alone rotates.
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
