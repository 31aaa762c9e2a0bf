/// Reads the single credential of a channel or an identity.
struct CredentialSection {
    let section: Section<CredentialKeys>

    /// Reads the credential.
    ///
    /// Reports a second kind, including `identity`, and `details` without effect because there is no
    /// credential.
    func authentication(or identity: [Slot] = [], details: [Slot] = []) -> Authentication {
        let kinds = CredentialKinds.names.map(section.slot) + identity
        let written = kinds.filter(\.isWritten)
        if written.count > 1, let second = written[1].node {
            let names = written.map(\.name).joined(separator: ", ")
            section.reading.report(
                "expected only one kind of credential, found \(names)",
                at: Place(position: second.keyPosition, key: second.path)
            )
        }
        if kinds.allSatisfy(\.isMissing) {
            let names = (CredentialKinds.names + ["identity"]).alternatives
            for detail in details + section.places where detail.isWritten {
                section.reading.require(
                    "has no effect without a credential (\(names))",
                    at: detail.place
                )
            }
        }
        // Read every kind, to report the errors of all.
        return CredentialKinds.all.filter { section.slot($0.key.name).isWritten }
            .compactMap { $0.credential(in: section) }.first ?? .none
    }

    /// Returns the place of a credential, or nil without one.
    func placement(of credential: Authentication) -> CredentialPlacement? {
        let reader = PlacementReader(section: section)
        return CredentialKinds.kind(of: credential)?.place(of: credential, by: reader)
    }
}
