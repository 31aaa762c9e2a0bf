import NetproxySettings

struct HeaderCredentialKeys: SectionKeys {
    static let table = KeyTable(Self())
    static let example: String? = #"{ name: X-Api-Key, value: "file:/path" }"#

    let name = Key("name", .ownFieldName)
    let value = Key("value", .secret { .fieldValue($0, after: "") })
}

package struct HeaderSettings: CredentialSettings {
    package let name: String
    package let value: SecretReference

    package var label: String { "auth.header \(name) (\(value))" }
    package var secretReferences: [SecretReference] { [value] }
}

/// A secret in a header field with a configured name.
struct HeaderKind: CredentialKind {
    static let key = Key("header", HeaderCredentialKeys.self)

    var key: any DeclaredKey { Self.key }
    var notation: CredentialNotation {
        CredentialNotation(field: nil, prefix: "", noun: "credential")
    }

    func read(_ section: Section<CredentialKeys>) -> HeaderSettings? {
        let header = section[Self.key]
        header.name.requireWritten()
        header.value.requireWritten()
        let (name, value) = (header[\.name], header[\.value])
        guard let name, let value else { return nil }
        return HeaderSettings(name: name, value: value)
    }

    func place(_ settings: HeaderSettings, by placement: PlacementReader) -> CredentialPlacement? {
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
