import NetproxySettings

/// The keys of a channel's `auth`.
struct AuthenticationKeys: SectionKeys {
    static let table = KeyTable(Self(), and: CredentialKinds.keys)
    static let example: String? = #"{ bearer: "file:/path" }"#

    let credential = CredentialKeys()
    let identity = Key("identity", .unread(.list(.text)))
    let narrowing = NarrowingKeys()
    let onClientCredential = Key(
        "on_client_credential",
        .choice(ClientCredentialPolicy.self),
        default: "replace"
    )

    static func objection(to key: String) -> String? {
        switch key {
        case "users": "users belongs into an identity; here it is access.users"
        case "tls": "tls belongs beside auth, not into it"
        case "type", "kind", "method", "scheme":
            "unknown key: the kind of the credential is itself the key, one of "
                + CredentialKinds.names.alternatives
        case "token", "access_token": "unknown key; for a fixed token: bearer: \"file:/path\""
        case "api_key", "apikey", "key":
            "unknown key; for an API key: header: { name: X-Api-Key, value: \"file:/path\" }"
        case "username", "password", "user":
            "unknown key; for a password: basic: { username: me, password: \"file:/path\" }"
        default: nil
        }
    }
}

/// The value of `auth`: a map, or the names of identities.
enum AuthValue {
    case section(Section<AuthenticationKeys>)
    case identities
}

extension Form<AuthValue> {
    static var authentication: Form {
        Form(.either([.map(AuthenticationKeys.self), .list(.text)])) { slot in
            slot.isOff || slot.node?.items != nil ? .identities : .section(Section(slot))
        }
    }
}
