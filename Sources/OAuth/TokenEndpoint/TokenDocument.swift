import FoundationEssentials
import HTTPMessage
import NetworkCore

/// The known members of a token endpoint's response (RFC 6749 §5.1 and §5.2).
///
/// The rest is ignored, and so is a member of the wrong type or with an empty value.
struct TokenDocument: Decodable {
    var accessToken: String?
    var tokenType: String?
    var refreshToken: String?
    var scope: String?
    var error: String?
    var errorDescription: String?
    /// Seconds; `nil` if absent, null or malformed.
    var expiresIn: Double?
    var refreshIn: Double?
    /// `refresh_expires_in` (Keycloak) or `refresh_token_expires_in`; no RFC defines either.
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
        tokenType =
            members.text(.tokenType) ?? TokenDocument.unknownValue(of: .tokenType, in: members)
        refreshToken = members.text(.refreshToken)
        // A string by RFC 6749 §3.3; some servers send a list.
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

    /// Reads a form, which some servers send instead of JSON; `nil` if it is empty, or if a member occurs
    /// twice or cannot be read.
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

    /// Reads a response body; `nil` if it is neither a JSON object nor, by its content type, a form.
    static func parse(_ body: ByteSlice, _ headers: HTTPHeaders = [:]) -> TokenDocument? {
        do {
            return try JSONDecoder().decode(TokenDocument.self, from: Data(body.array))
        } catch {
            // The decoder's error is dropped, because it may quote the content.
            return isForm(headers) ? TokenDocument(form: body) : nil
        }
    }

    private static func isForm(_ headers: HTTPHeaders) -> Bool {
        let type = headers[.contentType] ?? ""
        let essence = type.prefix { $0 != ";" && $0 != " " && $0 != "\t" }
        return Grammar.equalIgnoringCase(String(essence), "application/x-www-form-urlencoded")
    }

    /// Parses a number that was sent as a string: digits with an optional fraction and nothing else, so
    /// that "3600abc" is not an hour.
    static func seconds(_ text: String) -> Double? {
        let unsigned = text.hasPrefix("-") ? text.dropFirst() : text[...]
        let parts = unsigned.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count),
            parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(Grammar.isDigit) })
        else { return nil }
        return Double(text)
    }

    /// Ten years: no token lives longer, and arithmetic cannot overflow.
    private static let longest = 315_360_000.0

    /// The lifetime, clamped.
    var lifetime: Duration? { expiresIn.map { .seconds(min(max($0, 0), Self.longest)) } }

    /// When the server wants the token renewed; `nil` unless it is a positive time.
    var refreshHint: Duration? { Self.positive(refreshIn) }

    /// The refresh token's lifetime; `nil` unless positive: Keycloak sends 0 for an offline token, which
    /// does not expire.
    var refreshLifetime: Duration? { Self.positive(refreshExpiresIn) }

    private static func positive(_ seconds: Double?) -> Duration? {
        seconds.flatMap { $0 > 0 ? .seconds(min($0, longest)) : nil }
    }
}

/// Lenient access to members: one of the wrong type counts as absent, and so does an empty string, as
/// in forms (RFC 6749 §3.2).
extension KeyedDecodingContainer {
    /// The value of a member, if it is a string that is not empty.
    func text(_ key: Key) -> String? {
        guard let text = try? decode(String.self, forKey: key), !text.isEmpty else { return nil }
        return text
    }

    /// A number of seconds, sent as a number or as a string.
    func seconds(_ key: Key) -> Double? {
        if let number = try? decode(Double.self, forKey: key) { return number }
        return text(key).flatMap(TokenDocument.seconds)
    }
}
