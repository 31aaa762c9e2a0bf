/// A token sent without changes.
struct BearerKind: CredentialKind {
    static let key = Key("bearer", .unmentionedSecret)

    var key: any DeclaredKey { Self.key }

    func read(_ section: Section<CredentialKeys>) -> SecretReference? {
        let token = section[Self.key]
        if let token {
            let mention = PlacementReader(section: section).mention(token, after: "Bearer ")
            section.slot(Self.key.name).mention(mention)
        }
        return token
    }

    func authentication(_ token: SecretReference) -> Authentication { .bearer(token) }

    func settings(of authentication: Authentication) -> SecretReference? {
        if case .bearer(let token) = authentication { token } else { nil }
    }

    func label(_ token: SecretReference) -> String { "auth.bearer (\(token))" }

    func secrets(_ token: SecretReference) -> [SecretReference] { [token] }
}
