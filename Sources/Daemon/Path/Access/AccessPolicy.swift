import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
package import NetworkCore

/// Decides who may use a channel over a data listener (contract section 8).
///
/// Shared, so that a check copies nothing.
package final class AccessPolicy: Sendable {
    /// Names that `Host` may carry besides the local ones: `name`, `*.suffix` or `*`.
    private let hosts: [String]
    /// Which requests of browsers may use it.
    let pages: WebPagePolicy
    /// User ids that may call it over a unix socket; all of them if empty.
    private let users: [UInt32]
    /// The key that apps must send, if any.
    let key: Secret?
    /// Where the channel's credential goes: client libraries put there what they take for an API key.
    private let place: CredentialPlace?
    /// The fields that may carry the key besides `Proxy-Authorization`.
    private let keyFields: [HTTPFieldName]
    /// The channel, and the keys that were lent for it.
    let lent: (channel: String, keys: ClientKeys)?
    private let unknownKeys: UnknownKeys

    /// What a key means that no one has lent, where none is required.
    package enum UnknownKeys: Sendable {
        case ignored
        /// It may have chosen an account: the request must not go out with another one.
        case refused
    }

    /// Makes a policy; by default it admits every request for a local host.
    ///
    /// - Parameters:
    ///   - hosts: further names that `Host` may carry.
    ///   - origins: web origins that may call the channel; `none` for what a user opens.
    ///   - stake: what a web page could use.
    ///   - users: user ids that may; all of them if empty.
    ///   - key: the channel's own.
    ///   - place: where the channel's credential goes: a client library that can send an API key there
    ///     can send this key.
    ///   - lent: the channel, and the keys that were lent.
    ///   - unknownKeys: what a key means that no one has lent.
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
        // Of cookies, the others would go with it.
        let further = place?.fieldName.map { $0 == .authorization || $0 == .cookie ? [] : [$0] }
        keyFields = [.authorization] + (further ?? [])
        self.lent = lent
    }

    /// Whether it admits only some users.
    var listsUsers: Bool { !users.isEmpty }

    /// Whether a request may contain a key that counts.
    var looksForKeys: Bool { key != nil || lent != nil || unknownKeys == .refused }

    /// Checks the user who sends a request, with listed users.
    ///
    /// - Parameter userID: the peer's, on a unix socket.
    /// - Throws: `http_request_denied` with 403.
    func checkUser(_ userID: UInt32?) throws(NetworkError) {
        guard let userID else {
            throw denied(403, "access.users requires a unix socket")
        }
        guard users.contains(userID) else {
            throw denied(403, "user \(userID) is not listed in access.users")
        }
    }

    /// Checks the key that a request contains.
    ///
    /// - Parameters:
    ///   - head: the request.
    ///   - role: what the app takes netproxy for.
    ///   - ownCredential: what the app has put in the path in the credential's place.
    /// - Returns: where the app sent a key for this proxy instead of an API key; it must not be forwarded.
    /// - Throws: `http_request_denied` with 403, 401 or 407.
    func checkKey(
        _ head: borrowing RequestHead,
        role: PerceivedRole,
        ownCredential: String? = nil
    ) throws(NetworkError) -> ShownKeys {
        do throws(WrongKey) {
            return try shownKeys(in: head, ownCredential)
        } catch {
            // Clients that know no proxy answer only an origin's challenge (RFC 9110 §11.6.1, §11.7.1).
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
    ///   - localAddress: the address that the connection came in on.
    /// - Throws: `http_request_denied` with 421.
    func checkHost(
        _ head: borrowing RequestHead,
        isChannelHost: (Authority) -> Bool,
        localAddress: () -> SocketAddress? = { nil }
    ) throws(NetworkError) {
        switch head.target {
        case .origin, .asterisk:
            // The most frequent one, without a look at the rest.
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

    /// Whether a host is the address that the connection came in on: no name, so none that could be
    /// pointed here from outside.
    private static func isOwnAddress(
        _ host: Authority,
        _ localAddress: () -> SocketAddress?
    ) -> Bool {
        guard host.isIPLiteral, let own = localAddress(), let name = Authority("\(own)") else {
            return false
        }
        // A socket for both families has IPv4 addresses in their mapped form.
        return IPAddress(name.host)?.unmapped == IPAddress(host.host)
    }

    /// Whether `access.hosts` lists the name.
    func isListed(_ host: Authority) -> Bool {
        hosts.contains { HostPattern.matches($0, host.host) }
    }

    /// Looks for a key in the field of proxies and in those of APIs: client libraries that accept a base
    /// URL and an API key rarely accept another field.
    ///
    /// A lent key is valid for its channels only, even where no key is required. A key in any other field
    /// opens nothing, and is not forwarded either.
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

    /// No shorter value contains a key.
    private var shortestKey: Int {
        min(key?.reveal().utf8.count ?? ClientKeys.length, ClientKeys.length)
    }

    /// A value from the credential's place without what stands in front of the credential there.
    private func withoutPrefix(_ value: String) -> String {
        guard let prefix = place?.prefix, value.hasPrefix(prefix) else { return value }
        return String(value.dropFirst(prefix.count))
    }

    /// What the value of a field is worth as a key, alone or after a scheme.
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
        // The field of a credential may have any prefix, or none.
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

    /// What a text is worth as a key.
    ///
    /// - Throws: for a key of other channels.
    private func worth(of text: String) throws(WrongKey) -> KeyWorth {
        let shown = Secret(text)
        if let key, key == shown { return KeyWorth(.opens) }
        guard let lent, text.utf8.count == ClientKeys.length else { return KeyWorth(.nothing) }
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

/// What an app takes netproxy for, which decides how it can be asked for a key.
enum PerceivedRole: Sendable {
    /// The API itself.
    case origin
    /// A proxy.
    case proxy

    /// What the form of a request target says.
    init(_ target: RequestTarget) {
        self =
            switch target {
            case .origin, .asterisk: .origin
            case .absolute, .authority: .proxy
            }
    }
}

/// What a text is worth to a channel.
struct KeyWorth {
    enum Rank: Int, Comparable {
        /// It is not a key.
        case nothing
        /// It is a key, which does not open this channel.
        case isKey
        case opens

        static func < (left: Rank, right: Rank) -> Bool { left.rawValue < right.rawValue }
    }

    var rank: Rank
    /// The key, if it is a lent one.
    let lent: LentKey?

    init(_ rank: Rank, _ lent: LentKey? = nil) {
        (self.rank, self.lent) = (rank, lent)
    }
}

/// Where an app has shown a key for this proxy in the place of an API key.
struct ShownKeys {
    var fields: [HTTPFieldName] = []
    var isInQuery = false
    var isInPath = false
    /// The first lent key, wherever it was shown.
    var lent: LentKey?

    /// Notes a key that was shown, and returns its rank.
    fileprivate mutating func note(_ worth: KeyWorth) -> KeyWorth.Rank {
        if lent == nil { lent = worth.lent }
        return worth.rank
    }
}
