import HTTP1
import HTTPMessage
import NetworkCore

/// Decides who may use a channel over a data listener (contract section 8).
///
/// Shared, so that a check copies nothing.
final class AccessPolicy: Sendable {
    /// Names that `Host` may carry besides the local ones: `name`, `*.suffix` or `*`.
    private let hosts: [String]
    /// Origins of web pages that may call the channel.
    private let origins: [String]
    /// User ids that may call it over a unix socket; all of them if empty.
    private let users: [UInt32]
    /// The key that apps must send, if any.
    private let key: Secret?
    /// Where the channel's credential goes: client libraries put there what they take for an API key.
    private let place: CredentialPlace?
    /// The fields that may carry the key besides `Proxy-Authorization`.
    private let keyFields: [HTTPFieldName]
    /// The channel, and the keys that were lent for it.
    private let lent: (channel: String, keys: ClientKeys)?

    /// Makes a policy; by default it admits every request for a local host.
    ///
    /// - Parameters:
    ///   - hosts: further names that `Host` may carry.
    ///   - origins: web origins that may call the channel.
    ///   - users: user ids that may; all of them if empty.
    ///   - key: the channel's own.
    ///   - place: where the channel's credential goes: a client library that can send an API key there
    ///     can send this key.
    ///   - lent: the channel, and the keys that were lent.
    init(
        hosts: [String] = [],
        origins: [String] = [],
        users: [UInt32] = [],
        key: Secret? = nil,
        place: CredentialPlace? = nil,
        lent: (channel: String, keys: ClientKeys)? = nil
    ) {
        self.hosts = hosts
        self.origins = origins
        self.users = users
        self.key = key
        self.place = place
        // Of cookies, the others would go with it.
        let further = place?.fieldName.map { $0 == .authorization || $0 == .cookie ? [] : [$0] }
        keyFields = [.authorization] + (further ?? [])
        self.lent = lent
    }

    /// Checks a request.
    ///
    /// - Parameters:
    ///   - head: the request.
    ///   - isChannelHost: whether a channel claims a host.
    ///   - userID: the peer's, on a unix socket.
    ///   - role: what the app takes netproxy for; by default, what the form of its target says.
    ///   - ownCredential: what the app has put in the path in the credential's place.
    /// - Returns: where the app sent a key for this proxy instead of an API key; it must not be forwarded.
    /// - Throws: `http_request_denied` with 421, 403, 401 or 407.
    @discardableResult
    func check(
        _ head: RequestHead,
        isChannelHost: (Authority) -> Bool,
        userID: UInt32?,
        role: PerceivedRole? = nil,
        ownCredential: String? = nil
    ) throws(NetworkError) -> ShownKeys {
        try checkHost(head, isChannelHost: isChannelHost)
        if head.headers.contains(HTTPFieldName.origin)
            || head.headers.contains(HTTPFieldName.secFetchSite)
        {
            try checkBrowser(head.headers)
        }
        if !users.isEmpty {
            guard let userID else {
                throw denied(403, "access.users requires a unix socket")
            }
            guard users.contains(userID) else {
                throw denied(403, "user \(userID) is not listed in access.users")
            }
        }
        do throws(WrongKey) {
            return try checkKey(head, ownCredential)
        } catch {
            // Clients that know no proxy answer only an origin's challenge (RFC 9110 §11.6.1, §11.7.1).
            let status: HTTPStatus =
                switch role ?? PerceivedRole(head.target) {
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

    /// Whether a name cannot be pointed at this machine from outside.
    private func isLocal(_ host: Authority) -> Bool {
        host.isIPLiteral || host.host == "localhost" || host.host.hasSuffix(".localhost")
    }

    /// Whether `access.hosts` lists the name.
    func isListed(_ host: Authority) -> Bool {
        hosts.contains { HostPattern.matches($0, host.host) }
    }

    /// Whether the request comes from a web page, as browsers say.
    static func isWebPage(_ headers: HTTPHeaders) -> Bool {
        headers.contains(HTTPFieldName.origin)
            || headers.values(of: .secFetchSite).contains { $0 != "none" }
    }

    /// Refuses a web page's request unless its origin is listed, so that no page can use a credential.
    private func checkBrowser(_ headers: HTTPHeaders) throws(NetworkError) {
        guard AccessPolicy.isWebPage(headers) else { return }
        let named = headers.values(of: .origin)
        guard !named.isEmpty else {
            throw denied(403, "requests from web pages are not allowed")
        }
        guard named.allSatisfy(origins.contains) else {
            // Without its value: the detail is logged, but a field only if `log.headers` names it.
            throw denied(
                403,
                "the request's Origin (a web page) is not listed in access.origins"
            )
        }
    }

    /// Looks for a key in the field of proxies and in those of APIs: client libraries that accept a base
    /// URL and an API key rarely accept another field.
    ///
    /// A lent key is valid for its channels only, even where no key is required.
    private func checkKey(
        _ head: RequestHead,
        _ ownCredential: String?
    ) throws(WrongKey) -> ShownKeys {
        let headers = head.headers
        var isOpen = key == nil
        if headers.contains(KnownField.proxyAuthorization) {
            let shown = headers[.proxyAuthorization].flatMap(PresentedKey.key)
            if let shown, try opens(shown) { isOpen = true }
            guard isOpen else { throw .missing }
        }
        guard key != nil || lent?.keys.isAnyOut == true else { return ShownKeys() }
        var shown = ShownKeys(fields: try keyFields(of: headers))
        if let parameter = place?.parameter, let target = head.target.pathAndQuery {
            for value in parameter.values(in: target) where try opens(withoutPrefix(value)) {
                shown.isInQuery = true
            }
        }
        if let ownCredential {
            let value = PercentEncoding.decodedSegment(ownCredential[...])
            shown.isInPath = try opens(withoutPrefix(value))
        }
        guard isOpen || shown != ShownKeys() else { throw .missing }
        return shown
    }

    /// A value from the credential's place without what stands in front of the credential there.
    private func withoutPrefix(_ value: String) -> String {
        guard let prefix = place?.prefix, value.hasPrefix(prefix) else { return value }
        return String(value.dropFirst(prefix.count))
    }

    /// The fields with a key instead of an API key: some client libraries fill two.
    private func keyFields(of headers: HTTPHeaders) throws(WrongKey) -> [HTTPFieldName] {
        var fields: [HTTPFieldName] = []
        for field in keyFields where headers.contains(field) {
            for value in headers.values(of: field) {
                // The field of a credential may have any scheme, or none.
                let isPlace = field == place?.fieldName
                let hasPrefix = field != .authorization || place?.prefix != nil
                let bare = isPlace && hasPrefix ? withoutPrefix(value) : nil
                let whole = isPlace && field != .authorization ? value : nil
                for shown in [PresentedKey.key(in: value), bare, whole] {
                    if let shown, try opens(shown), fields.last != field { fields.append(field) }
                }
            }
        }
        return fields
    }

    /// Whether a field's value is or contains the channel's key, or one that was lent for any channel.
    func isKey(_ value: String) -> Bool {
        [PresentedKey.key(in: value), value].compactMap { $0.map { Secret($0) } }.contains {
            key == $0 || lent?.keys.standing(of: $0, at: "") ?? .unknown != .unknown
        }
    }

    private enum WrongKey: Error {
        case missing, elsewhere
    }

    private func detail(of error: WrongKey) -> String {
        switch error {
        case .missing:
            let places = ["Proxy-Authorization"] + keyFields.map(\.text)
            return "missing access.key in \(places.joined(separator: " or "))"
        case .elsewhere: return "the key was lent for other channels"
        }
    }

    /// Whether a key opens the channel.
    ///
    /// - Throws: for a key of other channels.
    private func opens(_ text: String) throws(WrongKey) -> Bool {
        let shown = Secret(text)
        if let key, key == shown { return true }
        guard let lent else { return false }
        switch lent.keys.standing(of: shown, at: lent.channel) {
        case .lent(let opens): return opens || key == nil
        case .elsewhere: throw .elsewhere
        case .unknown: return false
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

/// Where an app has shown a key for this proxy in the place of an API key.
struct ShownKeys: Equatable {
    var fields: [HTTPFieldName] = []
    var isInQuery = false
    var isInPath = false
}

/// Extracts the key from `Proxy-Authorization` or `Authorization`: `Bearer KEY`, or Basic with KEY as the
/// password.
enum PresentedKey {
    static func key(in value: String) -> String? {
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
