struct BasicKeys: SectionKeys {
    static let table = KeyTable(Self())
    static let example: String? = #"{ username: app, password: "file:/path" }"#

    let username = Key("username", .username)
    let password = Key("password", .secret)
}

/// A user name and a password (RFC 7617).
struct BasicKind: CredentialKind {
    typealias Settings = (username: String, password: SecretReference)

    static let key = Key("basic", BasicKeys.self)

    var key: any DeclaredKey { Self.key }

    func read(_ section: Section<CredentialKeys>) -> Settings? {
        let basic = section[Self.key]
        basic.username.requireWritten()
        basic.password.requireWritten()
        let (username, password) = (basic[\.username], basic[\.password])
        guard let username, let password else { return nil }
        return (username, password)
    }

    func authentication(_ settings: Settings) -> Authentication {
        .basic(username: settings.username, password: settings.password)
    }

    func settings(of authentication: Authentication) -> Settings? {
        guard case .basic(let username, let password) = authentication else { return nil }
        return (username, password)
    }

    func label(_ settings: Settings) -> String { "auth.basic (\(settings.password))" }

    func secrets(_ settings: Settings) -> [SecretReference] { [settings.password] }

    func place(_: Settings, by placement: PlacementReader) -> CredentialPlacement? {
        guard placement.location == .header else {
            placement.section.location.report(
                "basic goes into a header field; use bearer for a secret elsewhere"
            )
            return nil
        }
        return placement.placement()
    }
}
