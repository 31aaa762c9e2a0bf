import NetproxyBytes
import NetproxySettings

/// Reads the shared credentials of channels.
struct IdentityReader {
    let root: Section<RootKeys>

    /// Returns the identities, in the order of the file.
    func directory() -> IdentityDirectory {
        IdentityDirectory(root[\.identities].map(read))
    }

    private func read(_ entry: ConfigNode.Entry) -> IdentityDirectory.ReadIdentity {
        checkName(of: entry)
        let section = Section<IdentityKeys>(
            entry.value,
            path: entry.value.path,
            position: entry.keyPosition,
            in: root.reading
        )
        let credential = section.group(\.credential)
        let reader = CredentialSection(section: credential)
        let authentication = reader.authentication()
        let kinds = CredentialKinds.names
        if kinds.map(credential.slot).allSatisfy(\.isMissing) {
            credential.slot(OAuthKind.key.name).require("\(kinds.alternatives) is required")
        }
        let tls = tls(of: section)
        let kind = CredentialKinds.kind(of: authentication)
        kind?.checkIdentity(of: authentication, credential)
        kind?.check(authentication, with: tls, at: section.tls)
        let isShared = section[\.share]
        if isShared, kind?.sharesTokens != true {
            section.share.report("goes with oauth, whose tokens can be shared")
        }
        return IdentityDirectory.ReadIdentity(
            identity: IdentityConfiguration(
                credential: CredentialConfiguration(
                    owner: .identity(entry.key),
                    authentication: authentication,
                    allowInsecure: credential[\.allowInsecure],
                    tls: tls,
                    users: section[\.users],
                    isShared: isShared && kind?.sharesTokens == true
                ),
                placement: reader.placement(of: authentication)
            ),
            hasPlace: credential.hasPlace,
            place: entry.place
        )
    }

    private func checkName(of entry: ConfigNode.Entry) {
        guard !TextRules.isChannelName(entry.key) else { return }
        root.reading.report(
            "the name of an identity has 1 to 63 lower-case letters, digits and '-', "
                + "and does not begin with '-'",
            at: Place(
                position: entry.keyPosition,
                key: ConfigNode.printable(entry.value.path)
            )
        )
    }

    /// Returns the trust in the identity's authorization server: that of the identity, else that of
    /// `defaults`.
    private func tls(of identity: Section<IdentityKeys>) -> TLSDemands {
        if identity.tls.isWritten { return TLSDemands(identity[\.tls]) }
        let defaults = root.defaults.node?.child(ChannelKeys.table.keys.tls.name)
        return TLSDemands(
            Section(
                defaults,
                path: defaults?.path ?? "",
                position: defaults?.keyPosition ?? identity.position,
                in: root.reading
            )
        )
    }
}

/// The identities of a configuration, and the names of the used ones.
///
/// Used within one call of ``ConfigurationLoader``, hence not `Sendable`.
final class IdentityDirectory {
    /// An identity after reading.
    struct ReadIdentity {
        let identity: IdentityConfiguration
        /// Whether the identity states the place of its credential.
        let hasPlace: Bool
        /// The place of the identity's key.
        let place: Place
    }

    private let entries: [ReadIdentity]
    private var used: Set<String> = []

    init(_ entries: [ReadIdentity]) {
        self.entries = entries
    }

    var identities: [IdentityConfiguration] { entries.map(\.identity) }

    /// The identity with a name.
    subscript(name: String) -> ReadIdentity? { entries.first { $0.identity.name == name } }

    /// Returns the identity that a channel, or `defaults`, names; reports an unknown name.
    func use(_ node: ConfigNode, in reading: Reading) -> ReadIdentity? {
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

    /// Reports unused identities: a sign-in to one would serve no request.
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
