import FoundationEssentials

/// A successful answer of a token endpoint (RFC 6749 §5.1).
public struct TokenResponse: Sendable {
    /// The access token.
    public var accessToken: Secret
    /// Seconds to live; nothing where the server does not say.
    public var expiresIn: Double?
    /// The refresh token that replaces the one that was presented, if the server sent one.
    public var refreshToken: Secret?
    /// The scope that was granted, if it differs.
    public var scope: String?

    /// Makes an answer.
    public init(
        accessToken: Secret,
        expiresIn: Double?,
        refreshToken: Secret? = nil,
        scope: String? = nil
    ) {
        self.accessToken = accessToken
        self.expiresIn = expiresIn
        self.refreshToken = refreshToken
        self.scope = scope
    }
}

/// Why no token came.
public struct TokenEndpointError: Error, Sendable, CustomStringConvertible {
    /// What is to be done about it.
    public enum Severity: Sendable {
        /// Waiting may help.
        case transient
        /// The configuration or the registration of the client is wrong.
        case configuration
        /// `invalid_grant`: a person must sign in again.
        case dead
    }

    /// What is to be done about it.
    public var severity: Severity
    /// The server's own words, without secrets, at most 200 characters; or what happened.
    public var description: String
    /// Seconds after which the server wants to be asked again.
    public var retryAfter: Int?
    /// Whether the server may have acted on the request all the same.
    public var isAmbiguous: Bool

    /// Records a failure.
    public init(
        _ severity: Severity,
        _ description: String,
        retryAfter: Int? = nil,
        isAmbiguous: Bool = false
    ) {
        self.severity = severity
        self.description = description
        self.retryAfter = retryAfter
        self.isAmbiguous = isAmbiguous
    }
}

/// The JSON of a token endpoint, tolerant where servers differ and strict where it matters.
struct TokenJSON: Decodable {
    var accessToken: String?
    var tokenType: String?
    var expiresIn: Lifetime?
    var refreshToken: String?
    var scope: Scope?
    var error: String?
    var errorDescription: String?

    /// An optional member of an unusual kind counts as absent: a token that was issued is not thrown
    /// away for it.
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func text(_ key: CodingKeys) -> String? { try? container.decode(String.self, forKey: key) }
        accessToken = text(.accessToken)
        tokenType = text(.tokenType)
        expiresIn = try? container.decode(Lifetime.self, forKey: .expiresIn)
        refreshToken = text(.refreshToken)
        scope = try? container.decode(Scope.self, forKey: .scope)
        error = text(.error)
        errorDescription = text(.errorDescription)
    }

    enum CodingKeys: String, CodingKey {
        case accessToken = "access_token"
        case tokenType = "token_type"
        case expiresIn = "expires_in"
        case refreshToken = "refresh_token"
        case scope
        case error
        case errorDescription = "error_description"
    }

    /// `expires_in` in the shapes that servers send: number, float or numeric text; null and
    /// garbage count as absent.
    struct Lifetime: Decodable {
        let seconds: Double?

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let number = try? container.decode(Double.self) {
                seconds = number.isFinite ? number : nil
            } else if let text = try? container.decode(String.self) {
                let isNumber = text.utf8.allSatisfy {
                    Grammar.isDigit($0) || $0 == UInt8(ascii: ".")
                }
                seconds = isNumber ? Double(text) : nil
            } else {
                seconds = nil
            }
        }
    }

    /// `scope` as text, or as the list that some servers send.
    struct Scope: Decodable {
        let text: String?

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                self.text = text
            } else {
                text = (try? container.decode([String].self))?.joined(separator: " ")
            }
        }
    }
}
