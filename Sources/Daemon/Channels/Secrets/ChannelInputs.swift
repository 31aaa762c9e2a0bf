import FoundationEssentials
package import NetproxyConfig
import NetproxySettings
import NetworkCore
package import OAuth

/// The secrets and files of a channel.
///
/// If one of them changes, a reload assembles the channel again.
package struct ChannelInputs: Sendable, Equatable {
    var secrets: [SecretReference: Secret] = [:]
    /// The keys of several lines.
    var documents: [SecretReference: Secret] = [:]
    /// The contents of the files by path; `nil` for an unreadable file.
    var files: [String: Data?]
    /// The trusted authorization server, discovered from the upstream's URL.
    package var pinned: PinnedServer?
    /// The resource of a stored sign-in if it is not the channel's.
    package var otherResource: String?

    init(files: [String]) {
        self.files = Dictionary(
            files.map { ($0, FileManager.default.contents(atPath: $0)) }
        ) { first, _ in first }
    }

    /// Notes the server of the last sign-in.
    mutating func note(_ server: PinnedServer?, of channel: ChannelConfiguration) {
        pinned = server?.isOf(channel) == true ? server : nil
        otherResource = pinned == nil ? server?.resource : nil
    }
}

extension ChannelInputs {
    /// Returns the secrets and files of a credential.
    func part(of credential: CredentialConfiguration) -> ChannelInputs {
        var part = ChannelInputs(files: [])
        for reference in credential.secretReferences {
            part.secrets[reference] = secrets[reference]
        }
        for reference in credential.documentReferences {
            part.documents[reference] = documents[reference]
        }
        for path in credential.files { part.files[path] = files[path] }
        part.pinned = pinned
        part.otherResource = otherResource
        return part
    }

    /// Returns the secrets and files whose contents have changed.
    ///
    /// A new one does not count: it is a change of the configuration.
    package func changes(from earlier: ChannelInputs) -> (
        secrets: Set<SecretReference>, files: Set<String>
    ) {
        let references = secrets.merging(documents) { secret, _ in secret }
        let earlierReferences = earlier.secrets.merging(earlier.documents) { secret, _ in secret }
        let changed = references.filter { reference, secret in
            earlierReferences[reference].map { $0 != secret } ?? false
        }
        let changedFiles = files.filter { path, contents in
            earlier.files[path].map { $0 != contents } ?? false
        }
        return (Set(changed.keys), Set(changedFiles.keys))
    }
}

extension Mention.Resource {
    /// The named secret, if any.
    package var secret: SecretReference? {
        switch self {
        case .secret(let reference), .fieldValue(let reference, _), .signingKey(let reference),
            .jwtKey(let reference, _), .sharedKey(let reference, _), .serviceAccount(let reference),
            .stateKey(let reference):
            reference
        case .clientCertificate(let files): .file(files.key)
        case .authorities, .certificates, .sample, .journal, .directory, .containerAgent: nil
        }
    }

    /// Whether the resource is one of these secrets or files.
    package func names(_ secrets: Set<SecretReference>, _ files: Set<String>) -> Bool {
        switch self {
        case .secret(let reference), .fieldValue(let reference, _), .signingKey(let reference),
            .jwtKey(let reference, _), .sharedKey(let reference, _), .serviceAccount(let reference),
            .stateKey(let reference):
            secrets.contains(reference)
        case .authorities(let path), .certificates(let path), .sample(let path):
            files.contains(path)
        case .clientCertificate, .directory, .journal, .containerAgent: false
        }
    }
}

extension ChannelConfiguration {
    /// The secrets that the channel names, including those of its identities.
    var secretReferences: [SecretReference] {
        ownSecretReferences + credentials.flatMap(\.secretReferences)
    }

    /// The secrets that the channel names, without those of its credentials.
    private var ownSecretReferences: [SecretReference] {
        let own = [access.key, proxy?.login?.password] + headers.secrets.map(\.value)
        return own.compactMap { $0 }
    }

    /// The keys of several lines that the channel names.
    var documentReferences: [SecretReference] { credentials.flatMap(\.documentReferences) }

    /// The files of the channel.
    var files: [String] { ownFiles + credentials.flatMap(\.files) }

    /// The files of the channel, without those of its credentials.
    private var ownFiles: [String] {
        tls.files
            + (stub ?? []).compactMap { answer in
                if case .file(let path) = answer.content { path } else { nil }
            }
    }

    /// Whether the channel can serve with these values.
    ///
    /// It needs one of its credentials, and all other secrets and files that it names.
    func canServe(with inputs: ChannelInputs) -> Bool {
        inputs.has(secrets: ownSecretReferences, files: ownFiles)
            && (credentials.isEmpty || credentials.contains { $0.isRead(in: inputs) })
    }

    /// Whether the channel may continue to serve while its new configuration waits for secrets.
    ///
    /// Both configurations must have the same clients and match the same requests.
    func mayStand(inFor next: ChannelConfiguration) -> Bool {
        access == next.access && match == next.match
            && credentials.map(\.users) == next.credentials.map(\.users)
    }
}

extension ChannelInputs {
    /// Whether all of these have values.
    fileprivate func has(
        secrets references: [SecretReference],
        documents: [SecretReference] = [],
        files paths: [String]
    ) -> Bool {
        references.allSatisfy { secrets[$0] != nil }
            && documents.allSatisfy { self.documents[$0] != nil }
            && paths.allSatisfy { (files[$0] ?? nil) != nil }
    }
}

extension CredentialConfiguration {
    /// The files for the credential's own TLS settings.
    var files: [String] { tls.files }

    /// Whether all secrets and files of the credential were read.
    func isRead(in inputs: ChannelInputs) -> Bool {
        inputs.has(secrets: secretReferences, documents: documentReferences, files: files)
    }
}
