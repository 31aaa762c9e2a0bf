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
