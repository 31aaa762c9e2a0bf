import HTTP1
import HTTPMessage
import NetworkCore

/// Who may use a channel over a data listener (contract section 8).
///
/// It only judges. Shared, so that judging a request copies nothing.
final class AccessPolicy: Sendable {
    /// Names that a `Host` field may carry beside the local ones: `name`, `*.suffix` or `*`.
    private let hosts: [String]
    /// Origins of web pages that may call the channel.
    private let origins: [String]
    /// User ids that may call it over a unix socket; nobody is kept out while it is empty.
    private let users: [UInt32]
    /// What the app must show, if anything.
    private let key: Secret?
    /// Where it may be shown beside `Proxy-Authorization`.
    private let keyFields: [HTTPFieldName]
    /// The channel, and the keys that were given out for it for a while.
    private let lent: (channel: String, keys: ClientKeys)?

    /// Lets everybody in who names a local host.
    ///
    /// - Parameters:
    ///   - hosts: further names that `Host` may carry.
    ///   - origins: web origins that are let in.
    ///   - users: user ids that are; everybody if empty.
    ///   - key: the channel's own.
    ///   - credentialField: the field of the channel's credential: where a client library puts an API
    ///     key, it can put this one.
    ///   - lent: the channel, and the keys that were given out.
    init(
        hosts: [String] = [],
        origins: [String] = [],
        users: [UInt32] = [],
        key: Secret? = nil,
        credentialField: HTTPFieldName? = nil,
        lent: (channel: String, keys: ClientKeys)? = nil
    ) {
        self.hosts = hosts
        self.origins = origins
        self.users = users
        self.key = key
        keyFields =
            [.authorization] + [credentialField].compactMap { $0 == .authorization ? nil : $0 }
        self.lent = lent
    }

    /// Judges a request.
    ///
    /// - Parameters:
    ///   - head: the request.
    ///   - isChannelHost: tells whether a host is one that a channel claims.
    ///   - userID: the peer's, on a unix socket.
    /// - Returns: the fields in which the app showed its key in place of an API key, which is for
    ///   nobody but this proxy.
    /// - Throws: `http_request_denied` with 421, 403 or 407.
    @discardableResult
    func check(
        _ head: RequestHead,
        isChannelHost: (Authority) -> Bool,
        userID: UInt32?
    ) throws(NetworkError) -> [HTTPFieldName] {
        try checkHost(head, isChannelHost: isChannelHost)
        if head.headers.contains(HTTPFieldName.origin)
            || head.headers.contains(HTTPFieldName.secFetchSite)
        {
            try checkBrowser(head.headers)
        }
        if !users.isEmpty {
            guard let userID else {
                throw denied(403, "the channel's access.users wants a unix socket")
            }
            guard users.contains(userID) else {
                throw denied(403, "user \(userID) is not in the channel's access.users")
            }
        }
        return try checkKey(head.headers)
    }

    /// Judges the `Host` of a request that is for this proxy itself.
    ///
    /// - Parameters:
    ///   - head: the request.
    ///   - isChannelHost: tells whether a host is one that a channel claims.
    /// - Throws: `http_request_denied` with 421.
    func checkHost(
        _ head: RequestHead,
        isChannelHost: (Authority) -> Bool
    ) throws(NetworkError) {
        switch head.target {
        case .origin, .asterisk:
            guard let host = head.host else { return }
            guard isLocal(host) || isListed(host) || isChannelHost(host) else {
                throw denied(
                    421,
                    "the host \(host.host) is not served here; list it in access.hosts"
                )
            }
        case .absolute, .authority: break
        }
    }

    /// Names that nobody can point at this machine from outside.
    private func isLocal(_ host: Authority) -> Bool {
        host.isIPLiteral || host.host == "localhost" || host.host.hasSuffix(".localhost")
    }

    /// Whether `access.hosts` has the name.
    func isListed(_ host: Authority) -> Bool {
        hosts.contains { HostPattern.matches($0, host.host) }
    }

    /// Whether a web page asks, as browsers say.
    static func isWebPage(_ headers: HTTPHeaders) -> Bool {
        headers.contains(HTTPFieldName.origin)
            || headers.values(of: .secFetchSite).contains { $0 != "none" }
    }

    /// A web page's request: refused unless its origin is listed, so that no page uses a credential.
    private func checkBrowser(_ headers: HTTPHeaders) throws(NetworkError) {
        guard AccessPolicy.isWebPage(headers) else { return }
        let named = headers.values(of: .origin)
        guard !named.isEmpty else {
            throw denied(403, "requests of web pages are not allowed here")
        }
        guard named.allSatisfy(origins.contains) else {
            // Without its value: the detail is logged, and a field only if `log.headers` names it.
            throw denied(
                403,
                "the request's Origin, a web page, is not listed in access.origins"
            )
        }
    }

    /// Looks for a key where proxies have theirs, and where APIs have theirs: client libraries that
    /// can be told a base URL and an API key can seldom be told another field.
    ///
    /// A lent key is good for its channels alone, also where none is demanded: whoever lends a key for
    /// some means those.
    private func checkKey(_ headers: HTTPHeaders) throws(NetworkError) -> [HTTPFieldName] {
        var isOpen = key == nil
        if headers.contains(KnownField.proxyAuthorization) {
            let shown = headers[.proxyAuthorization].flatMap(AccessKey.presented)
            if let shown, try opens(shown) { isOpen = true }
            guard isOpen else { throw wanted() }
        }
        guard key != nil || lent?.keys.isAnyOut == true else { return [] }
        let shown = try keyFields(of: headers)
        guard isOpen || !shown.isEmpty else { throw wanted() }
        return shown
    }

    /// Where a key stands in place of an API key: some client libraries fill two fields.
    private func keyFields(of headers: HTTPHeaders) throws(NetworkError) -> [HTTPFieldName] {
        var fields: [HTTPFieldName] = []
        for field in keyFields where headers.contains(field) {
            for value in headers.values(of: field) {
                // A credential's own field has no scheme, or any.
                let bare = field == .authorization ? nil : value
                for shown in [AccessKey.presented(in: value), bare] {
                    if let shown, try opens(shown), fields.last != field { fields.append(field) }
                }
            }
        }
        return fields
    }

    /// Whether a field's value is, or shows, the channel's own key or one that was lent for any.
    func isKey(_ value: String) -> Bool {
        [AccessKey.presented(in: value), value].compactMap { $0.map { Secret($0) } }.contains {
            key == $0 || lent?.keys.standing(of: $0, at: "") ?? .unknown != .unknown
        }
    }

    private func wanted() -> NetworkError {
        let places = ["Proxy-Authorization"] + keyFields.map(\.text)
        return denied(
            407,
            "the channel wants its access.key in \(places.joined(separator: " or "))"
        )
    }

    /// Whether the key lets its bearer in.
    ///
    /// - Throws: `http_request_denied` with 407 for a key of other channels.
    private func opens(_ text: String) throws(NetworkError) -> Bool {
        let shown = Secret(text)
        if let key, key == shown { return true }
        guard let lent else { return false }
        switch lent.keys.standing(of: shown, at: lent.channel) {
        case .lent(let opens): return opens || key == nil
        case .elsewhere: throw denied(407, "the key was lent for other channels than this")
        case .unknown: return false
        }
    }

    private func denied(_ status: HTTPStatus, _ detail: String) -> NetworkError {
        NetworkError(.httpRequestDenied, side: .downstream, detail: detail, status: status)
    }
}

/// Reads the key out of `Proxy-Authorization` or `Authorization`: `Bearer KEY`, or Basic with KEY as
/// the password.
enum AccessKey {
    static func presented(in value: String) -> String? {
        guard let space = value.firstIndex(of: " ") else { return nil }
        let text = value[value.index(after: space)...].drop { $0 == " " }
        switch value[..<space].lowercased() {
        case "bearer": return String(text)
        case "basic":
            guard let pair = Base64.decode(String(text)),
                let colon = pair.firstIndex(of: UInt8(ascii: ":"))
            else { return nil }
            return String(decoding: pair[(colon + 1)...], as: UTF8.self)
        default: return nil
        }
    }
}
