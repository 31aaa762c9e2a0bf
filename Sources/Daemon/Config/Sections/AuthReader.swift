import NetproxySettings

/// Reads the credentials of a channel: its own, or those of the named identities.
struct AuthReader {
    let channel: Section<ChannelKeys>
    let name: String
    let identities: IdentityDirectory
    let section: Section<AuthenticationKeys>

    private var reading: Reading { channel.reading }
    private var credential: Section<CredentialKeys> { section.group(\.credential) }
    private var narrowing: Narrowing { Narrowing(section: section.group(\.narrowing)) }

    init(_ channel: Section<ChannelKeys>, name: String, identities: IdentityDirectory) {
        self.channel = channel
        self.name = name
        self.identities = identities
        section =
            if case .section(let section)? = channel[\.auth] {
                section
            } else {
                Section(
                    nil,
                    path: channel.auth.path,
                    position: channel.position,
                    in: channel.reading
                )
            }
    }

    /// Returns the credentials in their order, and their place in requests.
    func credentials(_ tls: TLSDemands) -> ([CredentialConfiguration], CredentialPlacement?) {
        let reader = CredentialSection(section: credential)
        let own = reader.authentication(
            or: [section.identity],
            details: [section.onClientCredential]
        )
        let lists = [channel.auth, section.identity]
        lists.first { $0.node?.items?.isEmpty == true }?
            .report("expected at least one identity; for no credential, write auth: off")
        let named = names.compactMap { identities.use($0, in: reading) }
        if names.isEmpty { narrowing.refuse() }
        guard own == .none else {
            let configuration = CredentialConfiguration(
                owner: .channel(name),
                authentication: own,
                allowInsecure: credential[\.allowInsecure],
                tls: tls
            )
            return ([configuration], reader.placement(of: own))
        }
        checkRepetition()
        return (named.map { narrowing.narrowed($0.identity.credential) }, placement(of: named))
    }

    /// The names of identities, in `auth: [work, spare]`, `auth: { identity: work }`, or a list under
    /// `identity`.
    private var names: [ConfigNode] { channel.auth.node?.items ?? section.identity.items }

    private func checkRepetition() {
        var seen: Set<String> = []
        for node in names {
            guard let text = node.text, !seen.insert(text).inserted else { continue }
            reading.report("the identity '\(text)' is named twice", at: node)
        }
    }

    private func placement(of entries: [IdentityDirectory.ReadIdentity]) -> CredentialPlacement? {
        // An invalid identity is reported at its own key.
        let entries = entries.filter { $0.identity.credential.authentication != .none }
        guard let first = entries.first else { return nil }
        guard !credential.hasPlace else { return ownPlacement(of: entries) }
        for other in entries where other.identity.placement != first.identity.placement {
            channel.auth.report(
                "the identities of a channel put their credentials into one place, and \(other.identity.name) "
                    + "has another than \(first.identity.name)"
            )
        }
        return first.identity.placement
    }

    /// Returns the place that the channel states for the credentials of its identities.
    private func ownPlacement(of entries: [IdentityDirectory.ReadIdentity]) -> CredentialPlacement?
    {
        if let other = entries.first(where: \.hasPlace) {
            (credential.places.first(where: \.isWritten) ?? credential.location).report(
                "the identity \(other.identity.name) states the place of its credential; state it "
                    + "there or here"
            )
        }
        let reader = CredentialSection(section: credential)
        let places = entries.map { reader.placement(of: $0.identity.credential.authentication) }
        return places.first ?? nil
    }
}
