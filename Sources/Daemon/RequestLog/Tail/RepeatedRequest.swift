package import NetproxySettings
import NetworkCore

/// A runnable curl command that sends a logged request through netproxy once more.
///
/// Parts missing from the log are left empty; a comment on a line before the command lists them.
package struct RepeatedRequest: Sendable, CustomStringConvertible {
    /// The comment and the command, for a POSIX shell.
    package private(set) var description = ""

    /// Fields that describe the transfer of the content, which is not in the log, and fields that the command
    /// sets itself.
    private static let unfitting: Set<String> = [
        "content-length", "transfer-encoding", "expect", "connection", "host", "content-encoding",
    ]

    private var missing: [String] = []
    private var words = ["curl"]

    /// Creates the command; nil for a tunnel, and if the request could not be parsed.
    package init?(_ line: LogLine, query mode: QueryMode, _ entrances: Entrances) {
        guard let method = line[.method]?.text,
            let path = line[.target]?.text ?? line[.path]?.text
        else { return nil }
        let channel = line[.channel]?.text.flatMap { entrances.channels[$0] }
        let entrance = channel ?? entrances.shared
        let count = line[.bytesIn]?.integer ?? 0
        words += count > 0 ? CurlWords.methodWithContent(method) : CurlWords.method(method)
        let base = address(of: entrance)
        let form: CurlWords.TargetForm = path == "*" ? .asterisk : .path
        var target = form == .asterisk ? "" : path
        if target.contains(PathTemplate.marker) {
            missing.append("a credential in the path")
            target = target.replacing(PathTemplate.marker, with: "")
        }
        target += query(line[.query]?.text ?? "", mode)
        switch Self.way(to: channel, line, path) {
        case .direct: words += CurlWords.url(base + target, form)
        case .host(let host):
            words += CurlWords.url(base + target, form)
            words += CurlWords.field("Host", host)
        case .proxy(let authority):
            words += ["-x", base] + CurlWords.url("http://\(authority)\(target)")
        }
        addFields(line[.headers])
        if count > 0 {
            words += ["--data-binary", "''"]
            missing.append("the body (\(count) bytes)")
        }
        if entrance.demandsKey { missing.append("the key (access.key)") }
        let command = words.joined(separator: " ")
        let comment = missing.joined(separator: ", ").replacing("\n", with: " ")
        description =
            missing.isEmpty ? command : "# not in the log, so left empty: \(comment)\n\(command)"
    }

    /// The way in which the client's request found its channel, if the log contains it.
    private enum Way {
        /// By the listener or the path.
        case direct
        case host(String)
        /// By the upstream's authority, in absolute-form.
        case proxy(String)
    }

    private static func way(
        to channel: Entrances.Entrance?,
        _ line: LogLine,
        _ path: String
    ) -> Way {
        guard let channel else {
            // Without a channel, only forwarded requests have a host.
            return line[.host]?.text.map(Way.proxy) ?? .direct
        }
        guard let prefix = channel.prefix, prefix != "/" else { return .direct }
        if path == prefix || path.hasPrefix(prefix + "/") { return .direct }
        if let host = channel.host, line[.target] != nil || channel.basePath == "/" {
            return .host(host)
        }
        return line[.host]?.text.map(Way.proxy) ?? .direct
    }

    private mutating func address(of entrance: Entrances.Entrance) -> String {
        if let address = entrance.address { return "http://\(address)" }
        if let socket = entrance.socket {
            words += ["--unix-socket", CurlWords.quoted(socket)]
            return "http://localhost"
        }
        missing.append("netproxy's address (that of a socket of systemd)")
        return "http://127.0.0.1:8080"
    }

    /// Returns the query with its question mark, without values if only names are logged.
    private mutating func query(_ text: String, _ mode: QueryMode) -> String {
        guard !text.isEmpty else { return "" }
        if mode == .full || text.contains("=") || text.contains("&") {
            if text.contains(Redaction.mark) { missing.append("a secret in the query") }
            return "?" + text.replacing(Redaction.mark, with: "")
        }
        let names = text.split(separator: ",").filter { $0 != Redaction.mark }
        missing.append("the values of \(names.joined(separator: " and "))")
        return "?" + names.map { "\($0)=" }.joined(separator: "&")
    }

    private mutating func addFields(_ fields: LogValue?) {
        guard case .object(let members)? = fields else { return }
        for member in members where !Self.unfitting.contains(member.name) {
            let value = member.value.plain
            if value.contains(Redaction.mark) {
                missing.append("the field \(member.name)")
            } else {
                words += CurlWords.field(member.name, value)
            }
        }
    }
}
