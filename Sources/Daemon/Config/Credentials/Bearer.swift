package struct BearerSettings: CredentialSettings {
    package let token: SecretReference

    package var label: String { "auth.bearer (\(token))" }
    package var secretReferences: [SecretReference] { [token] }
}

/// A token sent without changes.
struct BearerKind: CredentialKind {
    static let key = Key("bearer", .unmentionedSecret)

    var key: any DeclaredKey { Self.key }

    func read(_ section: Section<CredentialKeys>) -> BearerSettings? {
        guard let token = section[Self.key] else { return nil }
        let mention = PlacementReader(section: section).mention(token, after: "Bearer ")
        section.slot(Self.key.name).mention(mention)
        return BearerSettings(token: token)
    }
}
