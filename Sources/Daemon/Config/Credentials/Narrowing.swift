/// The parts of an identity's tokens that a channel requests.
struct NarrowingKeys: SectionKeys {
    static let table = KeyTable(Self())

    let scopes = Key(
        "scopes",
        .list(.text("a scope without spaces", where: TextRules.isScope)),
        default: []
    )
    let audience = Key("audience", .text)
    let resource = Key("resource", .resources, default: [])
}

/// Narrows the credential of an identity to the part that a channel requests.
struct Narrowing {
    let section: Section<NarrowingKeys>

    private var written: [Slot] {
        [section.scopes, section.audience, section.resource].filter(\.isWritten)
    }

    /// Reports the keys in a channel without an identity.
    func refuse() {
        for slot in written {
            slot.report("\(slot.name) belongs into oauth; here it goes with an identity only")
        }
    }

    /// Returns the part of the credential for the channel.
    func narrowed(_ credential: CredentialConfiguration) -> CredentialConfiguration {
        guard !written.isEmpty else { return credential }
        guard var settings = credential.oauth else {
            return report(
                "the identity \(credential.name) has no oauth section, so its tokens cannot be narrowed",
                credential
            )
        }
        guard settings.grant != .githubApp else {
            return report(
                "the identity \(credential.name) has the grant github_app, which repositories and "
                    + "permissions limit",
                credential
            )
        }
        if section.scopes.isWritten { settings.scopes = scopes(within: settings, credential.name) }
        if let audience = section[\.audience] { settings.audience = audience }
        if section.resource.isWritten { settings.resources = section[\.resource] }
        var narrowed = credential
        narrowed.isNarrowed = settings != credential.oauth
        narrowed.authentication = Authentication(settings)
        return narrowed
    }

    private func report(
        _ message: String,
        _ credential: CredentialConfiguration
    ) -> CredentialConfiguration {
        for slot in written { slot.report(message) }
        return credential
    }

    /// Returns the scopes of the channel, which can only narrow those of the identity.
    ///
    /// A refresh returns at most the scopes of the sign-in (RFC 6749 §6), and the identity limits a client's
    /// own token.
    private func scopes(within settings: OAuthSettings, _ identity: String) -> [String] {
        let scopes = section[\.scopes]
        let beyond = scopes.filter { !settings.scopes.contains($0) }
        if !settings.scopes.isEmpty, let first = beyond.first {
            section.scopes.report(
                "the scope \(first) is not among those of identity \(identity), and a channel can "
                    + "only narrow them; add it to identities.\(identity).oauth.scopes"
            )
        }
        return scopes
    }
}
