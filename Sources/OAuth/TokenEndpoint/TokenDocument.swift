import FoundationEssentials
import HTTPMessage
import NetworkCore

/// The members of a token endpoint's answer that are understood (RFC 6749 §5.1 and §5.2); the rest
/// is ignored, and so is a member of the wrong type or without a text.
struct TokenDocument: Decodable {
    var accessToken: String?
    var tokenType: String?
    var refreshToken: String?
    var scope: String?
    var error: String?
    var errorDescription: String?
    /// Seconds; nothing if absent, null or garbage.
    var expiresIn: Double?
    var refreshIn: Double?
    /// `refresh_expires_in` (Keycloak) or `refresh_token_expires_in`: no RFC has either.
    var refreshExpiresIn: Double?

    private enum Key: String, CodingKey {
        case accessToken = "access_token"
        case tokenType = "token_type"
        case refreshToken = "refresh_token"
        case scope, error
        case errorDescription = "error_description"
        case expiresIn = "expires_in"
        case refreshIn = "refresh_in"
        case refreshExpiresIn = "refresh_expires_in"
        case refreshTokenExpiresIn = "refresh_token_expires_in"
    }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        accessToken = members.text(.accessToken)
        tokenType = members.text(.tokenType) ?? TokenDocument.oddity(of: .tokenType, in: members)
        refreshToken = members.text(.refreshToken)
        // Text by RFC 6749 §3.3; some servers send the list.
        scope =
            members.text(.scope)
            ?? (try? members.decode([String].self, forKey: .scope))?
            .joined(separator: " ")
        error = members.text(.error)
        errorDescription = members.text(.errorDescription)
        expiresIn = members.seconds(.expiresIn)
        refreshIn = members.seconds(.refreshIn)
        refreshExpiresIn =
            members.seconds(.refreshExpiresIn) ?? members.seconds(.refreshTokenExpiresIn)
    }

    /// What stands for a member that is there and no text: a type that is not understood.
    private static func oddity(
        of key: Key,
        in members: KeyedDecodingContainer<Key>
    ) -> String? {
        guard members.contains(key), (try? members.decodeNil(forKey: key)) == false,
            (try? members.decode(String.self, forKey: key)) == nil
        else { return nil }
        return "?"
    }

    /// Reads a form, as some servers answer in place of JSON; nothing if a member comes twice or
    /// cannot be read, or if there is none.
    private init?(form body: ByteSlice) {
        guard let form = String(validating: body.array, as: UTF8.self),
            let members = FormDecoding.members(of: form), !members.isEmpty
        else { return nil }
        func text(_ key: Key) -> String? { members[key.rawValue] }
        accessToken = text(.accessToken)
        tokenType = text(.tokenType)
        refreshToken = text(.refreshToken)
        scope = text(.scope)
        error = text(.error)
        errorDescription = text(.errorDescription)
        expiresIn = text(.expiresIn).flatMap(TokenDocument.seconds)
        refreshIn = text(.refreshIn).flatMap(TokenDocument.seconds)
        refreshExpiresIn =
            text(.refreshExpiresIn).flatMap(TokenDocument.seconds)
            ?? text(.refreshTokenExpiresIn).flatMap(TokenDocument.seconds)
    }

    /// Reads an answer; nothing if it is neither a JSON object nor, by its own word, a form.
    static func parse(_ body: ByteSlice, _ headers: HTTPHeaders = [:]) -> TokenDocument? {
        do {
            return try JSONDecoder().decode(TokenDocument.self, from: Data(body.array))
        } catch {
            // Whatever is wrong with it, the caller can only say "no JSON object"; the decoder's
            // own words may quote the content.
            return isForm(headers) ? TokenDocument(form: body) : nil
        }
    }

    private static func isForm(_ headers: HTTPHeaders) -> Bool {
        let type = headers[.contentType] ?? ""
        let essence = type.prefix { $0 != ";" && $0 != " " && $0 != "\t" }
        return Grammar.equalIgnoringCase(String(essence), "application/x-www-form-urlencoded")
    }

    /// A number that was sent as text: digits with an optional fraction and nothing else, so that
    /// "3600abc" is not an hour.
    static func seconds(_ text: String) -> Double? {
        let unsigned = text.hasPrefix("-") ? text.dropFirst() : text[...]
        let parts = unsigned.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count),
            parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(Grammar.isDigit) })
        else { return nil }
        return Double(text)
    }

    /// Ten years: no token lives longer, and no arithmetic overflows.
    private static let longest = 315_360_000.0

    /// The lifetime, clamped.
    var lifetime: Duration? { expiresIn.map { .seconds(min(max($0, 0), Self.longest)) } }

    /// The server's own hint when to renew; nothing if it names no time to come.
    var refreshHint: Duration? { Self.positive(refreshIn) }

    /// The refresh token's lifetime; nothing if it names no time to come: Keycloak's 0 is an offline
    /// token's, which has no end.
    var refreshLifetime: Duration? { Self.positive(refreshExpiresIn) }

    private static func positive(_ seconds: Double?) -> Duration? {
        seconds.flatMap { $0 > 0 ? .seconds(min($0, longest)) : nil }
    }
}
