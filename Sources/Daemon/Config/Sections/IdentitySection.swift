/// The keys of an identity: those of `auth` that do not concern a single channel, and some others.
struct IdentityKeys: SectionKeys {
    static let table = KeyTable(Self(), and: CredentialKinds.keys)
    static let example: String? = #"{ bearer: "file:/path" }"#

    let credential = CredentialKeys()
    let tls = Key("tls", TLSKeys.self)
    let users = Key("users", .list(.userID), default: [])
    let share = Key("share", .flag, default: false)

    static func objection(to key: String) -> String? {
        switch key {
        case "identity":
            "an identity has its own credential: \(CredentialKinds.names.alternatives)"
        case "scopes", "audience", "resource": "\(key) of an identity belongs into its oauth"
        case "on_client_credential": "on_client_credential belongs into the auth of a channel"
        default: nil
        }
    }
}
