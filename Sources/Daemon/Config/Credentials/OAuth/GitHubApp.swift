import NetproxyHTTPMessage

/// The keys of the grant github_app, in `oauth`.
struct InstallationKeys: SectionKeys {
    static let table = KeyTable(Self())

    let id = Key(
        "installation",
        .text("the number of an installation") { text in
            text.utf8.allSatisfy(Grammar.isDigit) && (1...20).contains(text.utf8.count)
        }
    )
    let repositories = Key(
        "repositories",
        .list(
            .text("the name of a repository, without its owner") { text in
                !text.isEmpty
                    && text.utf8.allSatisfy {
                        Grammar.isTokenByte($0) && $0 != UInt8(ascii: "'")
                    }
            }
        ),
        default: []
    )
    let permissions = Key("permissions", .permissions, default: [:])
}

extension Form<[OAuthSettings.Installation.Permission]> {
    fileprivate static var permissions: Form {
        let access = Form<OAuthSettings.Installation.Permission.Access>.choice(
            OAuthSettings.Installation.Permission.Access.self
        )
        let entries = Form<[ConfigNode.Entry]>.entries(
            "a map, such as { contents: read }",
            of: access.shape
        )
        return Form(entries.shape) { slot in
            entries.read(slot)?.compactMap { entry in
                access.read(slot.with(entry.value)).map { .init(name: entry.key, access: $0) }
            }
        }
    }
}

/// Reads the installation of a GitHub App, and rejects the keys that its token requests do not use.
struct InstallationReader {
    let oauth: Section<OAuthKeys>

    private var section: Section<InstallationKeys> { oauth.group(\.installation) }

    /// Returns the installation of a github_app grant, and reports its keys with any other grant.
    func installation(for grant: OAuthSettings.Grant) -> OAuthSettings.Installation? {
        guard grant == .githubApp else {
            for slot in [section.id, section.repositories, section.permissions] {
                slot.refuse("used only by the grant github_app")
            }
            return nil
        }
        let unused = [
            oauth.issuer, oauth.clientSecret, oauth.clientAuthentication, oauth.scopes,
            oauth.audience, oauth.resource, oauth.parameters, oauth.proofKey, oauth.use,
            oauth.requestFormat, oauth.response,
        ]
        for slot in unused { slot.refuse("the grant github_app does not use \(slot.name)") }
        section.id.requireWritten("required for the grant github_app")
        let (repositories, permissions) = (section[\.repositories], section[\.permissions])
        return section[\.id].map {
            OAuthSettings.Installation(
                id: $0,
                repositories: repositories,
                permissions: permissions
            )
        }
    }

    /// Returns GitHub's own URL for an installation's tokens.
    static func url(of installation: OAuthSettings.Installation) -> EndpointURL? {
        do {
            return try EndpointURL(
                text: "https://api.github.com/app/installations/\(installation.id)/access_tokens"
            )
        } catch {
            preconditionFailure("unreachable: the id has digits only")
        }
    }
}
