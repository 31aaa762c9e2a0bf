package import NetproxySettings

struct JWTKeys: SectionKeys {
    static let table = KeyTable(Self())
    static let example: String? = #"{ key: "file:/path", claims: { iss: app } }"#

    let key = Key("key", .unmentionedSecret)
    let algorithm = Key("algorithm", .choice(SignatureAlgorithm.self))
    let id = Key("id", .text)
    let type = Key("type", .tokenType, default: "JWT")
    let claims = Key("claims", .entries("a map, such as { iss: app }", of: .value), default: [:])
    let lifetime = Key(
        "lifetime",
        .duration(in: .seconds(60) ... .seconds(86_400)),
        default: "20m"
    )
}

extension Form<String?> {
    /// The `typ` of a token's header, or `off`.
    fileprivate static var tokenType: Form {
        let form = Form.off(or: .text)
        // The text is arbitrary, so the schema lists no words.
        return Form(.text, form.read)
    }
}

/// A token that netproxy signs.
struct JWTKind: CredentialKind {
    static let key = Key("jwt", JWTKeys.self)

    var key: any DeclaredKey { Self.key }

    func read(_ section: Section<CredentialKeys>) -> JWTSettings? {
        let section = section[Self.key]
        let (key, algorithm) = (section[\.key], section[\.algorithm])
        if let key { section.key.mention(.jwtKey(key, algorithm)) }
        section.key.requireWritten()
        let entries = section[\.claims]
        let claims = ClaimReader(reading: section.reading)
        let settings = JWTSettings(
            key: key ?? .literal(""),
            algorithm: algorithm,
            id: section[\.id],
            type: section[\.type],
            claims: claims.claims(entries),
            stamps: claims.stamps(entries),
            lifetime: section[\.lifetime]
        )
        return key == nil ? nil : settings
    }
}

/// The tokens that netproxy signs for a channel: JSON Web Tokens (RFC 7519) that the API accepts directly.
package struct JWTSettings: Sendable, Hashable {
    /// A private key in PEM.
    package var key: SecretReference
    /// The required algorithm of the key; nil accepts any key.
    package var algorithm: SignatureAlgorithm?
    /// The key ID (`kid`) registered with the API.
    package var id: String?
    /// The `typ` of the header; nil omits it.
    package var type: String?
    /// The claims, without those that netproxy sets.
    package var claims: [String: TokenClaim]
    /// The claims of a token that netproxy sets.
    package var stamps: Set<TokenStamp>
    /// The time from `iat` to `exp`.
    package var lifetime: Duration
}

extension JWTSettings: CredentialSettings {
    package var label: String { "auth.jwt (signed with \(key))" }
    package var documentReferences: [SecretReference] { [key] }
}

/// Reads the claims of a token.
private struct ClaimReader {
    let reading: Reading

    /// Returns the claims except those that netproxy sets.
    func claims(_ entries: [ConfigNode.Entry]) -> [String: TokenClaim] {
        members(entries.filter { TokenStamp(rawValue: $0.key) == nil })
    }

    /// Returns the times and the ID of a token, whose values netproxy sets.
    func stamps(_ entries: [ConfigNode.Entry]) -> Set<TokenStamp> {
        var stamps = TokenStamp.usual
        for entry in entries {
            guard let stamp = TokenStamp(rawValue: entry.key) else { continue }
            switch entry.value.text {
            case "on", "true": stamps.insert(stamp)
            case "off", "false": stamps.remove(stamp)
            default:
                reading.report(
                    "expected on or off, because netproxy sets \(stamp.rawValue) itself, found "
                        + entry.value.found,
                    at: entry.value
                )
            }
        }
        return stamps
    }

    private func members(_ entries: [ConfigNode.Entry]) -> [String: TokenClaim] {
        var members: [String: TokenClaim] = [:]
        for entry in entries {
            guard TextRules.isPlain(entry.key) else {
                reading.report("expected the name of a claim", at: entry.place)
                continue
            }
            members[entry.key] = value(entry.value)
        }
        return members
    }

    private func value(_ node: ConfigNode) -> TokenClaim? {
        switch node.content {
        case .scalar("true"): .flag(true)
        case .scalar("false"): .flag(false)
        case .scalar(let text): .text(text)
        case .list(let items):
            .list(items.compactMap { reading.value($0, expected: "a text") { $0 } })
        case .map(let entries): .object(members(entries))
        case .null: nil
        }
    }
}
