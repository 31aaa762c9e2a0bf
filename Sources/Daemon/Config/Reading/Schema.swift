/// The keys of one map of the configuration.
protocol SectionKey: RawRepresentable<String>, CaseIterable, Hashable, Sendable {
    /// A value of the map, for the error of something else in its place.
    static var example: String? { get }
    /// What to say of a key that is unknown here for a special reason.
    static func objection(to key: String) -> String?
}

extension SectionKey {
    static var example: String? { nil }
    static func objection(to key: String) -> String? { nil }
}

enum RootKey: String, SectionKey {
    case listen, admin, state, workers, drain, limits, unmatched, connect, log, include
    case defaults, channels, identities
    case allowRemote = "allow_remote"
    case busyPoll = "busy_poll"
    case stateKey = "state_key"
}

enum StateKey: String, SectionKey {
    static let example: String? = "{ etcd: { endpoints: [https://10.0.0.1:2379] } }"

    case etcd
}

enum EtcdKey: String, SectionKey {
    static let example: String? = "{ endpoints: [https://10.0.0.1:2379] }"

    case endpoints, prefix, user, password
    case authorities = "ca"
    case clientCertificate = "client_certificate"
    case clientKey = "client_key"
}

/// The keys of an included file.
enum IncludedKey: String, SectionKey {
    static let example: String? = "{ channels: … }"

    case channels, defaults, identities

    static func objection(to key: String) -> String? {
        guard RootKey(rawValue: key) != nil else { return nil }
        return "only the main file may have \(key); an included file has channels, identities and "
            + "defaults"
    }
}

enum LimitsKey: String, SectionKey {
    static let example: String? = "{ connections: 4096 }"

    case connections
    case headerSize = "header_size"
    case headerCount = "header_count"
    case targetSize = "target_size"
    case headTimeout = "head_timeout"
    case bodyRate = "body_rate"
    case http2
}

enum HTTP2Key: String, SectionKey {
    static let example: String? = "{ streams: 128 }"

    case streams, window, continuations
    case idleFrames = "idle_frames"
}

enum LogKey: String, SectionKey {
    static let example: String? = "{ format: json }"

    case directory, output, format, rotate
}

enum RotationKey: String, SectionKey {
    case size, keep
}

enum ChannelKey: String, SectionKey {
    static let example: String? = "{ upstream: https://api.example.com }"

    case upstream, http, host, match, log, headers, trace, auth, retry, timeouts, pool, tls, access
    case rewrite, rate, proxy, stub, exec
}

enum RewriteKey: String, SectionKey {
    case links, cookies
}

enum RateKey: String, SectionKey {
    static let example: String? = "{ requests: 60, per: 1m }"

    case requests, per, burst
    case eachKey = "each_key"
}

enum EachKeyKey: String, SectionKey {
    static let example: String? = "{ requests: 60, per: 1m }"

    case requests, per, burst
}

enum AnswerKey: String, SectionKey {
    case method, path, delay, status, headers, body, file, fault
}

enum MatchKey: String, SectionKey {
    static let example: String? = "{ path: /orders }"

    case path, hosts, listen, strip
}

enum ChannelLogKey: String, SectionKey {
    case subsystem, category, query, headers
}

enum HeadersKey: String, SectionKey {
    case `default`, set, secret, remove, via
}

enum AuthenticationKey: String, SectionKey {
    static let example: String? = #"{ bearer: "file:/path" }"#

    case oauth, bearer, basic, header, exec, aws, jwt, hmac, identity, scopes, audience, resource
    case name, prefix
    case location = "in"
    case onClientCredential = "on_client_credential"
    case allowInsecure = "allow_insecure"

    static func objection(to key: String) -> String? {
        switch key {
        case "users": "users belongs into an identity; here it is access.users"
        case "tls": "tls belongs beside auth, not into it"
        default: nil
        }
    }

    /// The kinds of credentials, of which a channel has at most one.
    static let kinds: [AuthenticationKey] = [
        .oauth, .bearer, .basic, .header, .exec, .aws, .jwt, .hmac, .identity,
    ]
    /// Where it goes.
    static let places: [AuthenticationKey] = [.location, .name, .prefix]
    /// What a channel asks for instead of what its identity has.
    static let narrowing: [AuthenticationKey] = [.scopes, .audience, .resource]
}

/// The keys of an identity: those of `auth` that are not about one channel, and some others.
enum IdentityKey: String, SectionKey {
    static let example: String? = #"{ bearer: "file:/path" }"#

    case oauth, bearer, basic, header, exec, aws, jwt, hmac, name, prefix, tls, users
    case share
    case location = "in"
    case allowInsecure = "allow_insecure"

    static func objection(to key: String) -> String? {
        switch key {
        case "identity":
            "an identity has its own credential: bearer, basic, header, exec, aws, jwt, hmac or oauth"
        case "scopes", "audience", "resource": "\(key) of an identity belongs into its oauth"
        case "on_client_credential": "on_client_credential belongs into the auth of a channel"
        default: nil
        }
    }
}

enum OAuthKey: String, SectionKey {
    static let example: String? = "{ issuer: https://login.example.com, client_id: app }"

    case grant, issuer, scopes, audience, resource, parameters, assertion, exchange, proxy, use
    case installation, repositories, permissions, discover
    case grantType = "grant_type"
    case tokenHeaders = "token_headers"
    case authorizationParameters = "authorization_parameters"
    case tokenURL = "token_url"
    case authorizationURL = "authorization_url"
    case deviceURL = "device_url"
    case revocationURL = "revocation_url"
    case pushedURL = "par_url"
    case redirectURI = "redirect_uri"
    case clientKey = "client_key"
    case proofKey = "dpop_key"
    case clientMetadataURL = "client_metadata_url"
    case clientID = "client_id"
    case clientSecret = "client_secret"
    case clientAuthentication = "client_auth"
    case refreshToken = "refresh_token"
    case refreshBefore = "refresh_before"
}

enum ClientKeyKey: String, SectionKey {
    case key, id, audience
}

enum AssertionKey: String, SectionKey {
    case key, id, issuer, subject, audience
    case serviceAccount = "service_account"
}

enum TokenExchangeKey: String, SectionKey {
    case subjectToken = "subject_token"
    case subjectTokenType = "subject_token_type"
    case actorToken = "actor_token"
    case actorTokenType = "actor_token_type"
    case requestedTokenType = "requested_token_type"
}

enum ProxyKey: String, SectionKey {
    case url, username, password
}

enum BasicKey: String, SectionKey {
    static let example: String? = #"{ username: app, password: "file:/path" }"#

    case username, password
}

enum HeaderCredentialKey: String, SectionKey {
    static let example: String? = #"{ name: X-Api-Key, value: "file:/path" }"#

    case name, value
}

enum AWSKey: String, SectionKey {
    static let example: String? =
        #"{ access_key_id: AKIDEXAMPLE, secret_access_key: "file:/path" }"#

    case exec, source, role, region, service
    case accessKeyID = "access_key_id"
    case secretAccessKey = "secret_access_key"
    case sessionToken = "session_token"
}

enum AWSRoleKey: String, SectionKey {
    static let example: String? = "{ arn: arn:aws:iam::123456789012:role/reader }"

    case arn, duration, url
    case sessionName = "session_name"
    case externalID = "external_id"
    case webIdentityToken = "web_identity_token"
}

enum JWTKey: String, SectionKey {
    static let example: String? = #"{ key: "file:/path", claims: { iss: app } }"#

    case key, algorithm, id, type, claims, lifetime
}

enum HMACKey: String, SectionKey {
    static let example: String? = #"{ key: "file:/path", message: "{method}{target}{body}" }"#

    case key, algorithm, message, encoding, fields, date
    case keyEncoding = "key_encoding"
}

enum RetryKey: String, SectionKey {
    static let example: String? = "{ attempts: 2 }"

    case unauthorized, spill, attempts, status, backoff, budget
    case replayBody = "replay_body"
}

enum UnauthorizedKey: String, SectionKey {
    case status, body
}

enum BackoffKey: String, SectionKey {
    case base, max
}

enum TimeoutsKey: String, SectionKey {
    static let example: String? = "{ total: 30s }"

    case connect, response, idle, total
}

enum PoolKey: String, SectionKey {
    static let example: String? = "{ connections: 128 }"

    case connections, idle, queue, wait
}

enum TLSKey: String, SectionKey {
    static let example: String? = "{ ca: /path }"

    case pins, minimum
    case authorities = "ca"
    case systemRoots = "system_roots"
    case pinMode = "pin_mode"
    case clientCertificate = "client_certificate"
    case clientKey = "client_key"
    case serverName = "server_name"
}

enum ChannelAccessKey: String, SectionKey {
    static let example: String? = "{ methods: [GET] }"

    case hosts, origins, users, key, methods, paths
}

/// All keys of the configuration; a test compares them with the example file.
package enum ConfigurationSchema {
    /// Every key path, with `*` for the name of a channel.
    package static let keyPaths: [String] =
        paths(RootKey.self, under: "") + paths(LimitsKey.self, under: "limits.")
        + paths(HTTP2Key.self, under: "limits.http2.")
        + paths(LogKey.self, under: "log.") + paths(RotationKey.self, under: "log.rotate.")
        + paths(ChannelKey.self, under: "channels.*.")
        + paths(MatchKey.self, under: "channels.*.match.")
        + paths(ChannelLogKey.self, under: "channels.*.log.")
        + paths(HeadersKey.self, under: "channels.*.headers.")
        + paths(AuthenticationKey.self, under: "channels.*.auth.")
        + paths(IdentityKey.self, under: "identities.*.")
        + paths(OAuthKey.self, under: "channels.*.auth.oauth.")
        + paths(ClientKeyKey.self, under: "channels.*.auth.oauth.client_key.")
        + paths(AssertionKey.self, under: "channels.*.auth.oauth.assertion.")
        + paths(TokenExchangeKey.self, under: "channels.*.auth.oauth.exchange.")
        + paths(BasicKey.self, under: "channels.*.auth.basic.")
        + paths(HeaderCredentialKey.self, under: "channels.*.auth.header.")
        + paths(AWSKey.self, under: "channels.*.auth.aws.")
        + paths(AWSRoleKey.self, under: "channels.*.auth.aws.role.")
        + paths(JWTKey.self, under: "channels.*.auth.jwt.")
        + paths(HMACKey.self, under: "channels.*.auth.hmac.")
        + paths(RetryKey.self, under: "channels.*.retry.")
        + paths(UnauthorizedKey.self, under: "channels.*.retry.unauthorized.")
        + paths(BackoffKey.self, under: "channels.*.retry.backoff.")
        + paths(TimeoutsKey.self, under: "channels.*.timeouts.")
        + paths(PoolKey.self, under: "channels.*.pool.")
        + paths(TLSKey.self, under: "channels.*.tls.")
        + paths(ChannelAccessKey.self, under: "channels.*.access.")
        + paths(RewriteKey.self, under: "channels.*.rewrite.")
        + paths(RateKey.self, under: "channels.*.rate.")
        + paths(EachKeyKey.self, under: "channels.*.rate.each_key.")
        + paths(ProxyKey.self, under: "channels.*.proxy.")
        + paths(ProxyKey.self, under: "channels.*.auth.oauth.proxy.")
        + paths(AnswerKey.self, under: "channels.*.stub[*].")

    private static func paths<Key: SectionKey>(_: Key.Type, under prefix: String) -> [String] {
        Key.allCases.map { prefix + $0.rawValue }
    }
}
