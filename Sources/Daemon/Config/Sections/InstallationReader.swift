import NetproxyHTTPMessage

/// Reads for which installation of a GitHub App tokens are, and refuses the keys that its token requests
/// have no place for.
struct InstallationReader {
    let oauth: Section<OAuthKey>

    /// The installation of a github_app grant; reports its keys with any other grant.
    func installation(for grant: OAuthSettings.Grant) -> OAuthSettings.Installation? {
        guard grant == .githubApp else {
            for key in [OAuthKey.installation, .repositories, .permissions] {
                guard let node = oauth[key] else { continue }
                oauth.reading.report("used only by the grant github_app", at: node)
            }
            return nil
        }
        let unused: [OAuthKey] = [
            .issuer, .clientSecret, .clientAuthentication, .scopes, .audience, .resource,
            .parameters, .proofKey, .use,
        ]
        for key in unused {
            guard let node = oauth[key] else { continue }
            oauth.reading.report("the grant github_app does not use \(key.rawValue)", at: node)
        }
        if oauth[.installation] == nil {
            oauth.require(.installation, "required for the grant github_app")
        }
        let id = oauth.value(.installation, expected: "the number of an installation") { text in
            text.utf8.allSatisfy(Grammar.isDigit) && (1...20).contains(text.utf8.count) ? text : nil
        }
        let (repositories, permissions) = (repositories(), permissions())
        return id.map {
            OAuthSettings.Installation(
                id: $0,
                repositories: repositories,
                permissions: permissions
            )
        }
    }

    /// GitHub's own address of an installation's tokens.
    static func url(of installation: OAuthSettings.Installation) -> EndpointURL? {
        do {
            return try EndpointURL(
                text: "https://api.github.com/app/installations/\(installation.id)/access_tokens"
            )
        } catch {
            preconditionFailure("unreachable: the id has digits only")
        }
    }

    private func repositories() -> [String] {
        oauth.list(.repositories, of: "the name of a repository, without its owner") { text in
            let isName = text.utf8.allSatisfy { byte in
                Grammar.isTokenByte(byte) && byte != UInt8(ascii: "'")
            }
            return isName && !text.isEmpty ? text : nil
        }
    }

    private func permissions() -> [OAuthSettings.Installation.Permission] {
        guard let node = oauth[.permissions] else { return [] }
        guard let entries = node.entries else {
            oauth.reading.report(
                "expected a map, such as { contents: read }, found \(node.kind)",
                at: node
            )
            return []
        }
        let words = OAuthSettings.Installation.Permission.Access.allCases.map(\.rawValue)
        return entries.filter { !$0.value.isNull }.compactMap { entry in
            oauth.reading.value(entry.value, expected: words.alternatives) { text in
                OAuthSettings.Installation.Permission.Access(rawValue: text).map {
                    OAuthSettings.Installation.Permission(name: entry.key, access: $0)
                }
            }
        }
    }
}
