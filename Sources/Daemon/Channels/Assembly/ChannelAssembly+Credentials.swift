import NetproxyBytes
import NetproxyConfig
import NetproxyEventIO
import NetproxyPath
import NetproxyRequestLog
import NetworkCore
import OAuth

extension ChannelAssembly {
    /// Returns the accounts of a channel, and reuses accounts from `known` with the same settings and inputs.
    ///
    /// A channel with several credentials gets a `MissingCredential` for each unusable one.
    ///
    /// - Throws: an error that names the credential and the key if a secret cannot be read or is not valid in
    ///   a header field, unless the channel has another credential.
    func accounts(
        of channel: ChannelConfiguration,
        _ inputs: ChannelInputs,
        among known: inout [ChannelAccount],
        log: ChannelLog
    ) async throws -> [ChannelAccount] {
        var accounts: [ChannelAccount] = []
        for credential in channel.credentials {
            guard let provider = credential.provider else { continue }
            let part = inputs.part(of: credential)
            let dependence = provider.dependence(on: channel)
            let equal = known.first {
                $0.identity != nil && $0.credential == credential && $0.inputs == part
                    && $0.dependence == dependence && $0.missing == nil
            }
            if let equal, let shared = provider.adapted(equal.running, to: channel) {
                accounts.append(ChannelAccount(credential, part, shared, dependence))
                continue
            }
            do {
                guard credential.isRead(in: inputs) else {
                    throw IOError.system("\(credential.owner): its secrets cannot be read")
                }
                let log = credential.identity == nil ? log : ownLog
                let context = context(of: credential, at: inputs.pinned, log)
                let running = try await provider.credential(for: channel, in: context)
                let account = ChannelAccount(credential, part, running, dependence)
                known.append(account)
                accounts.append(account)
            } catch  where channel.credentials.count > 1 {
                accounts.append(ChannelAccount(credential, part, missing: error))
            }
        }
        let missing = accounts.compactMap(\.missing)
        if !missing.isEmpty, missing.count == accounts.count {
            throw IOError.system(missing.joined(separator: "; "))
        }
        return accounts
    }

    private func context(
        of credential: CredentialConfiguration,
        at pinned: PinnedServer?,
        _ log: ChannelLog
    ) -> CredentialContext {
        var context = CredentialContext(
            of: credential,
            secrets: secrets,
            environment: environment,
            oauthClients: oauthClients
        )
        context.pinned = pinned
        context.report = report
        context.onEvent = events(of: credential.owner, log)
        return context
    }

    private func events(
        of owner: CredentialConfiguration.Owner,
        _ log: ChannelLog
    ) -> @Sendable (OAuthEvent) -> Void {
        { [report, followSignIn, tokenRequests] event in
            tokenRequests.count(event, of: owner.name)
            if case .signedInElsewhere = event { followSignIn(owner.name) }
            if var record = event.record {
                if case .identity(let name) = owner { record.add("identity", .text(name)) }
                log.write(record)
            }
            if let line = event.line { report("\(owner): \(line)") }
        }
    }
}
