struct HeaderCredentialKeys: SectionKeys {
    static let table = KeyTable(Self())
    static let example: String? = #"{ name: X-Api-Key, value: "file:/path" }"#

    let name = Key("name", .ownFieldName)
    let value = Key("value", .secret { .fieldValue($0, after: "") })
}

/// A secret in a header field with a configured name.
struct HeaderKind: CredentialKind {
    typealias Settings = (name: String, value: SecretReference)

    static let key = Key("header", HeaderCredentialKeys.self)

    var key: any DeclaredKey { Self.key }

    func read(_ section: Section<CredentialKeys>) -> Settings? {
        let header = section[Self.key]
        header.name.requireWritten()
        header.value.requireWritten()
        let (name, value) = (header[\.name], header[\.value])
        guard let name, let value else { return nil }
        return (name, value)
    }

    func authentication(_ settings: Settings) -> Authentication {
        .header(name: settings.name, value: settings.value)
    }

    func settings(of authentication: Authentication) -> Settings? {
        guard case .header(let name, let value) = authentication else { return nil }
        return (name, value)
    }

    func label(_ settings: Settings) -> String {
        "auth.header \(settings.name) (\(settings.value))"
    }

    func secrets(_ settings: Settings) -> [SecretReference] { [settings.value] }

    func place(_ settings: Settings, by placement: PlacementReader) -> CredentialPlacement? {
        let section = placement.section
        for slot in section.places
        where slot.name != section.location.name || placement.location != .header {
            slot.refuse(
                "does not go with header, which has its own name and value; use bearer instead"
            )
        }
        return .header(name: settings.name, prefix: nil)
    }
}
