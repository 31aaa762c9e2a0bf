import NetproxyHTTPMessage

/// The keys shared by the `auth` of a channel and an identity, without those of the kinds.
struct CredentialKeys: SectionKeys {
    static let table = KeyTable(Self())

    let name = Key("name", .text)
    let prefix = Key("prefix", .prefix)
    let location = Key("in", .choice(CredentialPlacement.Location.self), default: "header")
    let allowInsecure = Key("allow_insecure", .flag, default: false)
}

extension Section<CredentialKeys> {
    /// The slots of the keys that state the place of the credential.
    var places: [Slot] { [self.location, self.name, self.prefix] }

    /// Whether any of these keys is written.
    var hasPlace: Bool { places.contains(where: \.isWritten) }
}

/// Reads the place of a credential in a request: `in`, `name` and `prefix`.
struct PlacementReader {
    let section: Section<CredentialKeys>

    var location: CredentialPlacement.Location { section[\.location] }

    /// Returns the place, for kinds that support any place.
    func placement() -> CredentialPlacement? {
        switch location {
        case .header: return field()
        case .query:
            section.name.requireWritten("required with in: query, such as name: key")
            return section[\.name].map { .query(name: $0, prefix: section[\.prefix] ?? "") }
        case .path:
            section.name.refuse(
                "a place in the path has no name; it is where the upstream's URL says "
                    + CredentialPlacement.marker
            )
            return .path(prefix: section[\.prefix] ?? "")
        }
    }

    /// Returns the resource to check for a secret in a field after `usual`, or after the section's own
    /// prefix.
    func mention(_ secret: SecretReference, after usual: String) -> Mention.Resource {
        guard location == .header else { return .secret(secret) }
        return .fieldValue(secret, after: section.prefix.text ?? usual)
    }

    private func field() -> CredentialPlacement? {
        let name =
            section.name.isWritten ? Form<String>.ownFieldName.read(section.name) : "Authorization"
        let prefix = section[\.prefix]
        guard let name else { return nil }
        if HTTPFieldName(name) == .cookie, prefix.map(Self.isCookieName) != true {
            let slot = section.prefix.isWritten ? section.prefix : section.name
            slot.report("a cookie needs its name in front, such as prefix: 'session='")
        }
        return .header(name: name, prefix: prefix)
    }

    private static func isCookieName(_ prefix: String) -> Bool {
        guard let equals = prefix.firstIndex(of: "=") else { return false }
        return Grammar.isToken(String(prefix[..<equals]))
    }
}

extension Form<String> {
    /// The text before the secret; trailing spaces are significant, and `off` means no text.
    static var prefix: Form {
        .quiet("a text without control characters or leading spaces", as: .opaque) { text in
            if text == "off" { return "" }
            return Grammar.isFieldValue("\(text)x") ? text : nil
        }
    }
}
