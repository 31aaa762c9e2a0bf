import FoundationEssentials
import NetproxyHTTPMessage
import NetworkCore

/// The known members of a token endpoint's response (RFC 6749 §5.1 and §5.2).
///
/// The rest is ignored, and so is a member of the wrong type or with an empty value.
struct TokenDocument: Decodable {
    var accessToken: String?
    /// OpenID Connect Core §3.1.3.3.
    var idToken: String?
    var tokenType: String?
    var refreshToken: String?
    var scope: String?
    var error: String?
    /// Entra ID's addition to `error`.
    var suberror: String?
    var errorDescription: String?
    /// Seconds; `nil` if absent, null or malformed.
    var expiresIn: Double?
    var refreshIn: Double?
    /// `refresh_expires_in` (Keycloak) or `refresh_token_expires_in`; no RFC defines either.
    var refreshExpiresIn: Double?

    private enum Key: String, CodingKey {
        case accessToken = "access_token"
        case idToken = "id_token"
        case tokenType = "token_type"
        case refreshToken = "refresh_token"
        case scope, error, suberror
        case errorDescription = "error_description"
        case expiresIn = "expires_in"
        case refreshIn = "refresh_in"
        case refreshExpiresIn = "refresh_expires_in"
        case refreshTokenExpiresIn = "refresh_token_expires_in"
        // Where some providers put the tokens: Slack those of a user, TikTok and Feishu all.
        case authedUser = "authed_user"
        case data, tokenData, result
        // Other names of the members.
        case token
        case otherAccessToken = "accessToken"
        case otherRefreshToken = "refreshToken"
        case otherExpiresIn = "expiresIn"
    }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        self.init(members)
        guard accessToken == nil, idToken == nil, error == nil else { return }
        readOtherNames(members)
        for place in [Key.authedUser, .data, .tokenData, .result] where accessToken == nil {
            let inner = try? members.nestedContainer(keyedBy: Key.self, forKey: place)
            guard let inner else { continue }
            var found = TokenDocument(inner)
            found.readOtherNames(inner)
            if found.accessToken != nil { self = found }
        }
    }

    private init() {}

    private init(_ members: KeyedDecodingContainer<Key>) {
        accessToken = members.text(.accessToken)
        idToken = members.text(.idToken)
        tokenType =
            members.text(.tokenType) ?? TokenDocument.unknownValue(of: .tokenType, in: members)
        refreshToken = members.text(.refreshToken)
        // A string by RFC 6749 §3.3; some servers send a list.
        scope =
            members.text(.scope)
            ?? (try? members.decode([String].self, forKey: .scope))?
            .joined(separator: " ")
        error = members.text(.error)
        suberror = members.text(.suberror)
        errorDescription = members.text(.errorDescription)
        expiresIn = members.seconds(.expiresIn)
        refreshIn = members.seconds(.refreshIn)
        refreshExpiresIn =
            members.seconds(.refreshExpiresIn) ?? members.seconds(.refreshTokenExpiresIn)
    }

    /// Reads an access token that has another name, and the members that go with it.
    private mutating func readOtherNames(_ members: KeyedDecodingContainer<Key>) {
        guard accessToken == nil else { return }
        accessToken = members.text(.otherAccessToken) ?? members.text(.token)
        guard accessToken != nil else { return }
        refreshToken = refreshToken ?? members.text(.otherRefreshToken)
        expiresIn = expiresIn ?? members.seconds(.otherExpiresIn)
    }

    /// Returns a placeholder for a member that is present but not a string, so that it does not count
    /// as absent.
    private static func unknownValue(
        of key: Key,
        in members: KeyedDecodingContainer<Key>
    ) -> String? {
        guard members.contains(key), (try? members.decodeNil(forKey: key)) == false,
            (try? members.decode(String.self, forKey: key)) == nil
        else { return nil }
        return "?"
    }

    /// Reads a response body; `nil` if it is neither a JSON object nor, by its content type, a form.
    ///
    /// A member with a JSON pointer is read there, and nowhere else.
    static func parse(
        _ body: ByteSlice,
        _ headers: HTTPHeaders = [:],
        _ pointers: [TokenResponseMember: String] = [:]
    ) -> TokenDocument? {
        var document = ServerDocument.read(TokenDocument.self, from: body, headers)
        guard !pointers.isEmpty,
            let content = ServerDocument.read(JSONValue.self, from: body, headers)
        else { return document }
        for (member, pointer) in pointers {
            document?.set(member, to: content.value(at: pointer)?.shown)
        }
        return document
    }

    private mutating func set(_ member: TokenResponseMember, to value: String?) {
        switch member {
        case .accessToken: accessToken = value
        case .tokenType: tokenType = value
        case .expiresIn: expiresIn = value.flatMap(ServerDocument.seconds)
        case .refreshToken: refreshToken = value
        case .scope: scope = value
        case .error: error = value
        case .errorDescription: errorDescription = value
        }
    }

    /// The lifetime, clamped.
    var lifetime: Duration? { expiresIn.map(ServerDocument.lifetime) }

    /// The time at which the server wants the token renewed; `nil` unless it is positive.
    var refreshHint: Duration? { Self.positive(refreshIn) }

    /// The refresh token's lifetime; `nil` unless positive: Keycloak sends 0 for an offline token, which
    /// does not expire.
    var refreshLifetime: Duration? { Self.positive(refreshExpiresIn) }

    private static func positive(_ seconds: Double?) -> Duration? {
        seconds.flatMap { $0 > 0 ? ServerDocument.lifetime($0) : nil }
    }
}

extension TokenDocument {
    /// Reads GitHub's response to a request for an installation's token; empty without a token.
    init(installation body: ByteSlice, _ headers: HTTPHeaders, at now: UnixTime) {
        self.init()
        guard let answer = InstallationToken.parse(body, headers) else { return }
        accessToken = answer.token
        expiresIn =
            answer.lifetime(since: headers[.date].flatMap { RetryAfter.date($0) } ?? now)?
            .seconds
    }

    /// The lifetime of the ID token by its own claims; `nil` if they cannot be read.
    ///
    /// `expires_in` is about the access token (OpenID Connect Core §3.1.3.3). The difference of the two
    /// claims counts, so that the server's clock does not matter.
    var idTokenLifetime: Duration? {
        struct Claims: Decodable {
            var iat: Double
            var exp: Double
        }
        let parts = (idToken ?? "").split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let payload = Base64URL.decode(String(parts[1])) else { return nil }
        do {
            let claims = try JSONDecoder().decode(Claims.self, from: Data(payload))
            return ServerDocument.lifetime(claims.exp - claims.iat)
        } catch {
            return nil
        }
    }
}
