import FoundationEssentials
import NetproxyConfig
package import NetproxyEventIO
package import NetproxyRequestLog
import NetproxySystem

/// The audit records of secret use and changes (contract section 10).
///
/// Each is one line in the daemon's own log.
package enum Audit: String, Sendable, CaseIterable {
    case lend, end, reveal, refresh, login, logout, reload

    private var message: String {
        switch self {
        case .lend: "a key was lent"
        case .end: "a lent key ended"
        case .reveal: "a token was revealed"
        case .refresh: "a renewal of the token was requested"
        case .login: "someone signed in"
        case .logout: "the tokens were removed"
        case .reload: "a reload was requested"
        }
    }

    /// Returns the record of an action.
    ///
    /// - Parameters:
    ///   - channels: the affected channels; empty for all.
    ///   - peer: the peer that requested the action; `nil` for a signal, whose sender is unknown.
    ///   - key: the id of the lent key.
    ///   - failure: the reason for a failure.
    /// - Returns: the record.
    package func record(
        of channels: some Sequence<String> = [],
        by peer: SocketPeer?,
        key: String? = nil,
        failure: String? = nil
    ) -> EventRecord {
        var facts: [(name: String, value: EventRecord.Value)] = [("action", .text(rawValue))]
        let names = channels.sorted().joined(separator: ", ")
        if !names.isEmpty { facts.append(("channel", .text(names))) }
        facts.append(("client", .text(peer?.address ?? "signal")))
        if let process = peer?.process {
            facts.append(("client_uid", .number(Int(process.userID))))
            if let id = process.processID { facts.append(("client_pid", .number(Int(id)))) }
        }
        if let key { facts.append(("client_key", .text(key))) }
        if let failure { facts.append(("detail", .text(failure))) }
        return EventRecord(
            time: .now,
            level: failure == nil ? .info : .warning,
            event: .audit,
            message: message,
            facts: facts
        )
    }
}
