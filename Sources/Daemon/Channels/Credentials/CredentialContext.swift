package import NetproxyConfig
import NetproxyEventIO
import NetworkCore
package import OAuth

/// A credential in use.
package struct RunningCredential: Sendable {
    let authorizer: any Authorizing
    /// The token engine, if the credential has renewable tokens.
    package var engine: OAuthManager?
    /// The responses other than a 401 that refuse the credential; `nil` if only the channel names them.
    var refusals: FurtherRefusals?
}

/// A configured credential, and the parts of the program from which its kind creates an authorizer.
package struct CredentialContext: Sendable {
    let credential: CredentialConfiguration
    let secrets: SecretReader
    let environment: [String: String]
    let oauthClients: OAuthAssembly
    /// The trusted authorization server, discovered from the upstream's URL.
    var pinned: PinnedServer?
    var report: OperatorReport = { _ in }
    /// Called for each event of the token engine.
    var onEvent: @Sendable (OAuthEvent) -> Void = { _ in }

    var owner: CredentialConfiguration.Owner { credential.owner }
    /// The kind of credential in the log, which is its key in the configuration.
    var kind: String { credential.authentication.kind ?? "none" }

    package init(
        of credential: CredentialConfiguration,
        secrets: SecretReader,
        environment: [String: String],
        oauthClients: OAuthAssembly
    ) {
        self.credential = credential
        self.secrets = secrets
        self.environment = environment
        self.oauthClients = oauthClients
    }

    /// Returns a fixed credential.
    ///
    /// The secret is read again after a 401 if it can change while the daemon runs.
    func fixed(
        _ reference: SecretReference,
        _ make: @escaping @Sendable (Secret) throws(NetworkError) -> StaticAuthorizer
    ) async throws -> RunningCredential {
        let place = "\(owner): \(owner.key(kind))"
        let secret = try await secrets.secret(reference)
        let first: StaticAuthorizer
        do throws(NetworkError) {
            first = try make(secret)
        } catch {
            throw IOError.system("\(place): \(error.detail)")
        }
        let authorizer = rotating(first, from: [reference]) { [resolver = secrets.resolver] in
            let bytes = try await resolver.resolve(reference)
            return try make(Secret(String(decoding: bytes, as: UTF8.self)))
        }
        return RunningCredential(authorizer: authorizer)
    }

    /// Returns an authorizer for a fixed credential that consists of several secrets.
    ///
    /// The secrets are read again after a rejection if one can change while the daemon runs.
    func rotating(
        _ first: StaticAuthorizer,
        from references: [SecretReference],
        read: @escaping @Sendable () async throws -> StaticAuthorizer
    ) -> any Authorizing {
        let sources = references.filter { $0.isFile || $0.isProgram }
        guard !sources.isEmpty else { return first }
        let place = "\(owner): \(owner.key(kind))"
        let names = sources.map(\.description).joined(separator: ", ")
        let copied = sources.first { if case .credential = $0 { true } else { false } }
        let (report, seldom) = (report, RateLimitedReport(report))
        return RotatingAuthorizer(
            first,
            effort: sources.contains(where: \.isProgram) ? .program : .file,
            read: read,
            onChange: {
                report("\(place): the API rejected it; using the new value from \(names)")
            },
            onNoChange: {
                guard let copied else { return }
                // systemd copies credentials when it starts the service; a reload does not.
                seldom(
                    "\(place): the API rejected it, and \(copied) is unchanged: after changing its "
                        + "source (LoadCredential=), restart the service"
                )
            },
            onFault: { error in
                let words = (error as? NetworkError)?.detail ?? "\(error)"
                seldom("\(place): the API rejected it, and there is no new value: \(words)")
            }
        )
    }
}
