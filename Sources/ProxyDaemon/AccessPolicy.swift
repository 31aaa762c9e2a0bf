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
    /// What `Proxy-Authorization` must carry, if anything.
    private let key: Secret?
    /// The channel, and the keys that were given out for it for a while.
    private let lent: (channel: String, keys: ClientKeys)?

    /// Lets everybody in who names a local host.
    init(
        hosts: [String] = [],
        origins: [String] = [],
        users: [UInt32] = [],
        key: Secret? = nil,
        lent: (channel: String, keys: ClientKeys)? = nil
    ) {
        self.hosts = hosts
        self.origins = origins
        self.users = users
        self.key = key
        self.lent = lent
    }

    /// Judges a request.
    ///
    /// - Parameters:
    ///   - head: the request.
    ///   - isChannelHost: tells whether a host is one that a channel claims.
    ///   - userID: the peer's, on a unix socket.
    /// - Throws: `http_request_denied` with 421, 403 or 407.
    func check(
        _ head: RequestHead,
        isChannelHost: (Authority) -> Bool,
        userID: UInt32?
    ) throws(NetworkError) {
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
        if key != nil || head.headers.contains(KnownField.proxyAuthorization) {
            try checkKey(head.headers[.proxyAuthorization])
        }
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
            throw denied(403, "requests of web pages are not allowed on this channel")
        }
        guard named.allSatisfy(origins.contains) else {
            // Without its value: the detail is logged, and a field only if `log.headers` names it.
            throw denied(
                403,
                "the request's Origin, a web page, is not in the channel's access.origins"
            )
        }
    }

    /// A channel's own key, if it demands one; a lent one is good for its channels alone, also where
    /// none is demanded: whoever lends a key for some means those.
    private func checkKey(_ value: String?) throws(NetworkError) {
        let presented = value.flatMap(AccessKey.presented).map { Secret($0) }
        if let key, key == presented { return }
        if let presented, let lent {
            switch lent.keys.standing(of: presented, at: lent.channel) {
            case .lent(opens: true): return
            case .elsewhere: throw denied(407, "the key was lent for other channels than this")
            case .unknown, .lent: break
            }
        }
        if key != nil {
            throw denied(407, "the channel wants its access.key in Proxy-Authorization")
        }
    }

    private func denied(_ status: HTTPStatus, _ detail: String) -> NetworkError {
        NetworkError(.httpRequestDenied, side: .downstream, detail: detail, status: status)
    }
}

/// Reads the key out of `Proxy-Authorization`: `Bearer KEY`, or Basic with KEY as the password.
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
