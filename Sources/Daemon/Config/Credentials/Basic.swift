import NetproxySettings

struct BasicKeys: SectionKeys {
    static let table = KeyTable(Self())
    static let example: String? = #"{ username: app, password: "file:/path" }"#

    let username = Key("username", .username)
    let password = Key("password", .secret)
}

package struct BasicSettings: CredentialSettings {
    package let username: String
    package let password: SecretReference

    package var label: String { "auth.basic (\(password))" }
    package var secretReferences: [SecretReference] { [password] }
}

/// A user name and a password (RFC 7617).
struct BasicKind: CredentialKind {
    static let key = Key("basic", BasicKeys.self)

    var key: any DeclaredKey { Self.key }
    var notation: CredentialNotation { CredentialNotation(prefix: "Basic ", noun: "credential") }

    func read(_ section: Section<CredentialKeys>) -> BasicSettings? {
        let basic = section[Self.key]
        basic.username.requireWritten()
        basic.password.requireWritten()
        let (username, password) = (basic[\.username], basic[\.password])
        guard let username, let password else { return nil }
        return BasicSettings(username: username, password: password)
    }

    func place(_: BasicSettings, by placement: PlacementReader) -> CredentialPlacement? {
        guard placement.location == .header else {
            placement.section.location.report(
                "basic goes into a header field; use bearer for a secret elsewhere"
            )
            return nil
        }
        return placement.placement()
    }
}
