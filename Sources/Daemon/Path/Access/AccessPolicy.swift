import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
package import NetworkCore

/// Decides who may use a channel over a data listener (contract section 8).
///
/// A class, so that a check copies nothing.
package final class AccessPolicy: Sendable {
    /// The host names accepted in `Host` besides the local ones: `name`, `*.suffix` or `*`.
    private let hosts: [String]
    /// The rules for requests from browsers.
    let pages: WebPagePolicy
    /// The user ids that may use the channel over a unix socket; all of them if empty.
    private let users: [UInt32]
    /// The key that clients must send, if any.
    let key: Secret?
    /// The place of the channel's credential, in which client libraries send their API key.
    private let place: CredentialPlace?
    /// The fields that may carry the key besides `Proxy-Authorization`.
    private let keyFields: [HTTPFieldName]
    /// The channel and the keys lent for it.
    let lent: (channel: String, keys: ClientKeys)?
    private let unknownKeys: UnknownKeys

    /// The meaning of a key that was never lent, on a channel that requires none.
    package enum UnknownKeys: Sendable {
        case ignored
        /// The key may have chosen an account: refuse the request rather than send it with another one.
        case refused
    }

    /// Creates a policy; by default it admits every request for a local host.
    ///
    /// - Parameters:
    ///   - hosts: the further names accepted in `Host`.
    ///   - origins: the web origins that may use the channel; `none` admits pages opened by the user.
    ///   - stake: the access that a web page would gain.
    ///   - users: the admitted user ids; all of them if empty.
    ///   - key: the channel's own key.
    ///   - place: the place of the channel's credential. A client library that can send an API key there
    ///     can send this key.
    ///   - lent: the channel and the keys lent for it.
    ///   - unknownKeys: the meaning of a key that was never lent.
    package init(
        hosts: [String] = [],
        origins: [String] = [],
        stake: WebPagePolicy.Stake = .nothing,
        users: [UInt32] = [],
        key: Secret? = nil,
        place: CredentialPlace? = nil,
        lent: (channel: String, keys: ClientKeys)? = nil,
        unknownKeys: UnknownKeys = .ignored
    ) {
        self.unknownKeys = unknownKeys
        self.hosts = hosts
        pages = WebPagePolicy(origins: origins, stake: stake)
        self.users = users
        self.key = key
        self.place = place
        // Not `Cookie`: stripping the key would remove the other cookies too.
        let further = place?.fieldName.map { $0 == .authorization || $0 == .cookie ? [] : [$0] }
        keyFields = [.authorization] + (further ?? [])
        self.lent = lent
    }

    /// Whether the policy admits only some users.
    var listsUsers: Bool { !users.isEmpty }

    /// Whether the policy reads keys from requests.
    var looksForKeys: Bool { key != nil || lent != nil || unknownKeys == .refused }

    /// Checks the user who sends a request; call it only if the policy lists users.
    ///
    /// - Parameter userID: the peer's user id on a unix socket.
    /// - Throws: `http_request_denied` with 403.
    func checkUser(_ userID: UInt32?) throws(NetworkError) {
        guard let userID else {
            throw denied(403, "access.users requires a unix socket")
        }
        guard users.contains(userID) else {
            throw denied(403, "user \(userID) is not listed in access.users")
        }
    }

    /// Checks the key in a request.
    ///
    /// - Parameters:
    ///   - head: the request.
    ///   - role: the role in which the client addresses netproxy.
    ///   - ownCredential: the client's text at the credential's place in the path.
    /// - Returns: the places of keys for this proxy that must not be forwarded.
    /// - Throws: `http_request_denied` with 403, 401 or 407.
    func checkKey(
        _ head: borrowing RequestHead,
        role: PerceivedRole,
        ownCredential: String? = nil
    ) throws(NetworkError) -> ShownKeys {
        do throws(WrongKey) {
            return try shownKeys(in: head, ownCredential)
        } catch {
            // Clients that are not aware of a proxy handle only an origin's challenge (RFC 9110 §11.6.1,
            // §11.7.1).
            let status: HTTPStatus =
                switch role {
                case .origin: 401
                case .proxy: 407
                }
            throw denied(status, detail(of: error))
        }
    }

    /// Checks the `Host` of a request in origin-form.
    ///
    /// - Parameters:
    ///   - head: the request.
    ///   - isChannelHost: whether a channel claims a host.
    ///   - localAddress: the local address of the connection.
    /// - Throws: `http_request_denied` with 421.
    func checkHost(
        _ head: borrowing RequestHead,
        isChannelHost: (Authority) -> Bool,
        localAddress: () -> SocketAddress? = { nil }
    ) throws(NetworkError) {
        switch head.target {
        case .origin, .asterisk:
            // The most frequent host skips the other checks.
            guard let host = head.host, host.host != "127.0.0.1" else { return }
            guard !host.isDisguisedAddress else {
                throw denied(421, "the host \(host.host) is not served here; use 127.0.0.1")
            }
            guard
                host.isLoopbackName || isListed(host) || isChannelHost(host)
                    || AccessPolicy.isOwnAddress(host, localAddress)
            else {
                throw denied(
                    421,
                    "the host \(host.host) is not served here; list it in access.hosts"
                )
            }
        case .absolute, .authority: break
        }
    }

    /// Whether a host is the local address of the connection.
    ///
    /// It needs no listing: unlike a name, an address cannot be pointed to this machine from outside.
    private static func isOwnAddress(
        _ host: Authority,
        _ localAddress: () -> SocketAddress?
    ) -> Bool {
        guard host.isIPLiteral, let own = localAddress(), let name = Authority("\(own)") else {
            return false
        }
        // A dual-stack socket reports IPv4 addresses in their mapped form.
        return IPAddress(name.host)?.unmapped == IPAddress(host.host)
    }

    /// Whether `access.hosts` lists the name.
    func isListed(_ host: Authority) -> Bool {
        hosts.contains { HostPattern.matches($0, host.host) }
    }

    /// Finds keys in the field for proxies and in those for APIs.
    ///
    /// Client libraries that accept a base URL and an API key rarely accept another field. A lent key is
    /// valid for its channels only, even if the channel requires no key. A key in any other field does not
    /// open the channel and is not forwarded.
    private func shownKeys(
        in head: borrowing RequestHead,
        _ ownCredential: String?
    ) throws(WrongKey) -> ShownKeys {
        let headers = head.headers
        var isOpen = key == nil
        var shown = ShownKeys()
        if headers.contains(KnownField.proxyAuthorization) {
            let key = headers[.proxyAuthorization].flatMap(PresentedKey.forProxy)
            if let key {
                let rank = shown.note(try worth(of: key))
                if rank == .opens { isOpen = true }
                if rank == .nothing, isOpen, unknownKeys == .refused { throw .unknown }
            }
            guard isOpen else { throw .missing }
        }
        guard key != nil || lent?.keys.isAnyOut == true else { return shown }
        for field in headers where field.value.utf8.count >= shortestKey {
            let worth = shown.note(try worth(of: field))
            if worth == .opens { isOpen = true }
            if worth != .nothing, !shown.fields.contains(field.name) {
                shown.fields.append(field.name)
            }
        }
        if let parameter = place?.parameter, let target = head.target.pathAndQuery {
            for value in parameter.values(in: target) {
                let worth = shown.note(try worth(of: withoutPrefix(value)))
                if worth == .opens { isOpen = true }
                if worth != .nothing { shown.isInQuery = true }
            }
        }
        if let ownCredential {
            let value = PercentEncoding.decodedSegment(ownCredential[...])
            let worth = shown.note(try worth(of: withoutPrefix(value)))
            if worth == .opens { isOpen = true }
            shown.isInPath = worth != .nothing
        }
        guard isOpen else { throw .missing }
        return shown
    }

    /// The length of the shortest possible key, in bytes.
    private var shortestKey: Int {
        min(key?.reveal().utf8.count ?? ClientKeys.shortest, ClientKeys.shortest)
    }

    /// Removes the credential's prefix from a value.
    private func withoutPrefix(_ value: String) -> String {
        guard let prefix = place?.prefix, value.hasPrefix(prefix) else { return value }
        return String(value.dropFirst(prefix.count))
    }

    /// Returns the worth of a field's value as a key, alone or after a scheme.
    private func worth(of field: HTTPField) throws(WrongKey) -> KeyWorth {
        if field.name == .proxyAuthorization { return KeyWorth(.nothing) }
        let isPlace = place?.fieldName.map(field.name.looksLike) ?? false
        let counts = keyFields.contains(where: field.name.looksLike)
        var best = KeyWorth(.nothing)
        func take(_ texts: [String], counts: Bool) throws(WrongKey) {
            for text in texts {
                var worth = try worth(of: text)
                if !counts { worth.rank = min(worth.rank, .isKey) }
                if worth.rank > best.rank { best = worth }
            }
        }
        try take(PresentedKey.keys(in: field.value), counts: counts)
        // A credential's field can have any prefix, or none.
        try take([field.value, withoutPrefix(field.value)], counts: counts && isPlace)
        return best
    }

    private enum WrongKey: Error {
        case missing, elsewhere, unknown
    }

    private func detail(of error: WrongKey) -> String {
        switch error {
        case .missing:
            let places = ["Proxy-Authorization"] + keyFields.map(\.text)
            return "missing access.key in \(places.joined(separator: " or "))"
        case .elsewhere: return "the key was lent for other channels"
        case .unknown:
            return
                "the key in Proxy-Authorization is not valid (any more), and the channel has several "
                + "accounts; send none, or run the program with netproxy exec"
        }
    }

    /// Returns the worth of a text as a key.
    ///
    /// - Throws: `WrongKey.elsewhere` for a key of other channels.
    private func worth(of text: String) throws(WrongKey) -> KeyWorth {
        let shown = Secret(text)
        if let key, key == shown { return KeyWorth(.opens) }
        guard let lent, lent.keys.mayBeKey(length: text.utf8.count) else {
            return KeyWorth(.nothing)
        }
        switch lent.keys.standing(of: shown, at: lent.channel) {
        case .lent(let lent, let opens):
            return KeyWorth(opens || key == nil ? .opens : .isKey, lent)
        case .elsewhere: throw .elsewhere
        case .unknown: return KeyWorth(.nothing)
        }
    }

    private func denied(_ status: HTTPStatus, _ detail: String) -> NetworkError {
        NetworkError(.httpRequestDenied, side: .downstream, detail: detail, status: status)
    }
}

/// The role in which a client addresses netproxy, which decides the form of the challenge for a key.
enum PerceivedRole: Sendable {
    /// The API itself.
    case origin
    /// A proxy.
    case proxy

    /// Reads the role from the form of the request target.
    init(_ target: RequestTarget) {
        self =
            switch target {
            case .origin, .asterisk: .origin
            case .absolute, .authority: .proxy
            }
    }
}

/// The worth of a text as a key for a channel.
struct KeyWorth {
    enum Rank: Int, Comparable {
        /// The text is not a key.
        case nothing
        /// The text is a key that does not open this channel.
        case isKey
        case opens

        static func < (left: Rank, right: Rank) -> Bool { left.rawValue < right.rawValue }
    }

    var rank: Rank
    /// The lent key, if the text is one.
    let lent: LentKey?

    init(_ rank: Rank, _ lent: LentKey? = nil) {
        (self.rank, self.lent) = (rank, lent)
    }
}

/// The places in which a client sent a key for this proxy instead of an API key.
struct ShownKeys {
    var fields: [HTTPFieldName] = []
    var isInQuery = false
    var isInPath = false
    /// The first lent key in any of the places.
    var lent: LentKey?

    /// Notes a key in the request, and returns its rank.
    fileprivate mutating func note(_ worth: KeyWorth) -> KeyWorth.Rank {
        if lent == nil { lent = worth.lent }
        return worth.rank
    }
}
