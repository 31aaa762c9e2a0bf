import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyRequestLog
import NetworkCore

/// Removal of known secrets from the record, wherever a client wrote them in its request.
extension Exchange {
    /// Hides the channel's secrets by their values.
    @inline(never)
    mutating func hideSecrets(of rules: ChannelRules) {
        hide(rules.knownSecrets)
        let credential =
            record.context.sentCredential ?? rules.stack.signing?.authorizer.currentCredential()
        if let credential { hide(credential.echoes) }
    }

    private mutating func hide(_ secrets: SecretSearch) {
        if secrets.isFound(in: record.target.utf8.span) {
            record.target = secrets.hiding(in: record.target)
        }
        if let asked = record.asked, secrets.isFound(in: asked.utf8.span) {
            record.asked = secrets.hiding(in: asked)
        }
        if let id = record.clientRequestID, secrets.isFound(in: id.utf8.span) {
            record.clientRequestID = nil
        }
        guard !record.headers.isEmpty else { return }
        record.headers = record.headers.compactMap {
            HTTPField($0.name, secrets.hiding(in: $0.value))
        }
    }

    /// Removes netproxy's keys from the recorded request.
    mutating func hide(_ keys: KnownKeys) {
        let hasHeaders = channel?.loggedHeaders.isEmpty == false
        guard keys.isAny, hasHeaders || record.target.utf8.contains(UInt8(ascii: "?")) else {
            return
        }
        let shown = keys.shown(in: head)
        record.target = shown.removed(from: record.target)
        guard hasHeaders, let names = channel?.loggedHeaders else { return }
        var headers = head.headers
        shown.remove(from: &headers)
        record.headers = headers.filter { names.contains($0.name) }
    }
}
