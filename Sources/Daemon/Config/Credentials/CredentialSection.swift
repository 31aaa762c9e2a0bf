/// Reads the one credential of a channel or of an identity.
struct CredentialSection {
    let section: Section<CredentialKeys>

    /// Reads the credential; reports a second kind, of which `identity` is one, and `details` that have no
    /// effect without a credential.
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
        // Every kind is read, so that the errors of all are reported.
        return CredentialKinds.all.filter { section.slot($0.key.name).isWritten }
            .compactMap { $0.credential(in: section) }.first ?? .none
    }

    /// The place of a credential; nil without one.
    func placement(of credential: Authentication) -> CredentialPlacement? {
        let reader = PlacementReader(section: section)
        return CredentialKinds.kind(of: credential)?.place(of: credential, by: reader)
    }
}
