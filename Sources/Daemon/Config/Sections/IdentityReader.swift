import NetproxyBytes

/// Reads the credentials that channels share.
struct IdentityReader {
    let root: Section<RootKey>

    /// The identities, in the order of the file.
    func directory() -> IdentityDirectory {
        guard let node = root[.identities] else { return IdentityDirectory([]) }
        guard let entries = node.entries else {
            root.reading.report("expected a map of identities, found \(node.found)", at: node)
            return IdentityDirectory([])
        }
        return IdentityDirectory(entries.map(read))
    }

    private func read(_ entry: ConfigNode.Entry) -> IdentityDirectory.Entry {
        let reading = root.reading
        if !TextRules.isChannelName(entry.key) {
            reading.report(
                "the name of an identity has 1 to 63 lower-case letters, digits and '-', "
                    + "and does not begin with '-'",
                at: Place(
                    position: entry.keyPosition,
                    key: ConfigNode.printable(entry.value.path)
                )
            )
        }
        let section = Section<IdentityKey>(
            entry.value,
            path: entry.value.path,
            position: entry.keyPosition,
            in: reading
        )
        let reader = AuthenticationReader(section: Section(renaming: section))
        let authentication = reader.authentication()
        if AuthenticationKey.kinds.allSatisfy(reader.section.lacks) {
            section.require(
                .oauth,
                "bearer, basic, header, exec, aws, jwt, hmac or oauth is required"
            )
        }
        if case .oauth(let settings) = authentication, settings.discovery != nil {
            reading.report(
                "goes with a channel's own oauth: its upstream says what the server is",
                at: reader.section.section(.oauth, OAuthKey.self).place(of: .discover)
            )
        }
        let tls = tls(of: section)
        if case .oauth(let settings) = authentication, settings.clientAuthentication == .tls,
            tls.clientCertificate == nil
        {
            reading.require(
                "required for client_auth tls",
                at: Place(
                    position: section.position,
                    key: "\(section.path(of: .tls)).client_certificate"
                )
            )
        }
        return IdentityDirectory.Entry(
            identity: IdentityConfiguration(
                credential: CredentialConfiguration(
                    owner: .identity(entry.key),
                    authentication: authentication,
                    allowInsecure: section.flag(.allowInsecure, default: false),
                    tls: tls,
                    users: section.list(.users, of: "a numeric user id") { text in
                        WholeNumber.parse(text).flatMap(UInt32.init(exactly:))
                    },
                    isShared: isShared(section, authentication)
                ),
                placement: reader.placement(of: authentication)
            ),
            hasPlace: reader.hasPlace,
            place: entry.place
        )
    }

    private func isShared(
        _ section: Section<IdentityKey>,
        _ authentication: Authentication
    ) -> Bool {
        let isShared = section.flag(.share, default: false)
        if case .oauth = authentication { return isShared }
        if isShared {
            root.reading.report(
                "goes with oauth, whose tokens can be shared",
                at: section.place(of: .share)
            )
        }
        return false
    }

    /// How its authorization server is trusted: as the identity says, else as `defaults` do.
    private func tls(of identity: Section<IdentityKey>) -> UpstreamTLS {
        if identity[.tls] != nil {
            return TLSReader(section: identity.section(.tls, TLSKey.self)).tls()
        }
        let defaults = root[.defaults]?.child(ChannelKey.tls.rawValue)
        let section = Section<TLSKey>(
            defaults,
            path: defaults?.path ?? "",
            position: defaults?.keyPosition ?? identity.position,
            in: root.reading
        )
        return TLSReader(section: section).tls()
    }
}

/// The identities of a configuration, and which of them channels use.
///
/// Used within one call of ``ConfigurationLoader``, hence not `Sendable`.
final class IdentityDirectory {
    /// An identity as it was read.
    struct Entry {
        let identity: IdentityConfiguration
        /// Whether it says where its credential goes.
        let hasPlace: Bool
        /// Where it is written.
        let place: Place
    }

    private let entries: [Entry]
    private var used: Set<String> = []

    init(_ entries: [Entry]) {
        self.entries = entries
    }

    var identities: [IdentityConfiguration] { entries.map(\.identity) }

    /// The identity of a name.
    subscript(name: String) -> Entry? { entries.first { $0.identity.name == name } }

    /// The identity that a channel, or `defaults`, names; an unknown name is reported.
    func use(_ node: ConfigNode, in reading: Reading) -> Entry? {
        guard let name = node.text else {
            reading.report("expected the name of an identity, found \(node.kind)", at: node)
            return nil
        }
        guard let entry = self[name] else {
            let names = entries.map(\.identity.name)
            let advice =
                NearestKey.likely(name, among: names).map { ", did you mean '\($0)'?" }
                ?? (names.isEmpty
                    ? ": there are no identities" : "; there are \(names.joined(separator: ", "))")
            reading.report(
                "there is no identity '\(ConfigNode.printable(name))'\(advice)",
                at: node
            )
            return nil
        }
        if case .whole = reading.completeness { used.insert(name) }
        return entry
    }

    /// Reports the identities that no channel uses: a sign-in to one would serve no request.
    func reportUnused(in reading: Reading) {
        for entry in entries where !used.contains(entry.identity.name) {
            reading.report(
                "no channel uses this identity; add auth: { identity: \(entry.identity.name) } to one, "
                    + "or remove it",
                at: entry.place
            )
        }
    }
}
