import FoundationEssentials
package import NetproxyConfig
package import NetproxyEtcdStore
package import NetproxyEventIO
import NetproxyPath
import NetproxySettings
import NetworkCore
package import OAuth
import OriginTransport

/// The storage of tokens between runs: local files, or etcd, which several machines share.
package actor StatePlace {
    private let directory: String
    private let etcd: (client: EtcdClient, prefix: String)?
    private let references: [SecretReference]
    private let secrets: SecretReader
    /// The seal, read once: a new key takes effect at a start, because it cannot open existing sealed tokens.
    private var knownSeal: TokenSeal?
    private var knownState: EtcdState?

    /// Creates the place; reads only certificates, and sends no request.
    ///
    /// - Throws: an error that names an unusable certificate.
    package init(
        _ configuration: ProxyConfiguration,
        secrets: SecretReader,
        loop: EventLoop,
        report: @escaping OperatorReport = { _ in }
    ) throws {
        directory = configuration.state
        references = configuration.stateKeys
        self.secrets = secrets
        etcd = try configuration.etcd.map { settings in
            let client = try EtcdClient(settings, secrets: secrets, loop: loop, report: report)
            return (client, settings.prefix)
        }
    }

    /// The state of etcd; `nil` with files.
    package nonisolated var standing: EtcdClient.Standing? { etcd?.client.standing }

    /// Waits for background work, such as the release of a lock.
    package nonisolated func settle() async { await etcd?.client.settle() }

    /// Runs the work, and waits until its locks are released.
    package nonisolated func settling(_ work: () async throws -> Void) async throws {
        do {
            try await work()
        } catch {
            await settle()
            throw error
        }
        await settle()
    }

    /// Returns the token store of a credential.
    ///
    /// - Throws: an error that names the place, if a key cannot be read or is not valid.
    func store(of credential: CredentialConfiguration) async throws -> any TokenStoring {
        // Each machine gets tokens of its own, unless the credential is shared.
        if etcd != nil, !credential.isShared, credential.oauth?.grant.needsSignIn == false {
            return MemoryTokenStore()
        }
        return try await store(ofFamily: credential.name)
    }

    /// Returns the token store of a family.
    package func store(ofFamily family: String) async throws -> any TokenStoring {
        if let state = try await state() { return state.store(of: family) }
        return FileTokenStore(directory: directory, family: family, seal: try await seal())
    }

    /// Returns the families with tokens, in order.
    package func families() async throws -> [String] {
        guard let state = try await state() else {
            return try FileTokenStore.families(in: directory)
        }
        return try await state.families()
    }

    private func state() async throws -> EtcdState? {
        guard let etcd else { return nil }
        if let knownState { return knownState }
        guard let seal = try await seal() else {
            throw IOError.system("state.etcd needs state_key: everything there is sealed")
        }
        let process = ProcessInfo.processInfo
        let state = EtcdState(
            below: etcd.prefix,
            sealing: seal,
            as: "\(process.hostName), process \(process.processIdentifier)",
            remembering: directory,
            by: etcd.client
        )
        // Another call may have finished first.
        let first = knownState ?? state
        knownState = first
        return first
    }

    /// Returns the seal; `nil` if no `state_key` is configured.
    package func seal() async throws -> TokenSeal? {
        if let knownSeal { return knownSeal }
        var keys: [Secret] = []
        for reference in references {
            let key = try await secrets.secret(reference)
            do {
                _ = try TokenSeal(base64: key)
            } catch {
                throw IOError.system("\(reference): \(error)")
            }
            keys.append(key)
        }
        guard let first = keys.first else { return nil }
        let seal = try TokenSeal(base64: first, earlier: Array(keys.dropFirst()))
        knownSeal = seal
        return seal
    }
}

extension EtcdClient {
    /// Creates a client of a configured cluster; its requests run on `loop`.
    fileprivate convenience init(
        _ settings: EtcdSettings,
        secrets: SecretReader,
        loop: EventLoop,
        report: @escaping OperatorReport
    ) throws {
        var options = UpstreamOptions()
        options.connections = 512
        options.timeSettings = .fixed("requests to etcd")
        options.connectTimeout = .seconds(2)
        options.responseTimeout = .seconds(10)
        // A watch is silent until something is stored; TCP detects an unreachable member.
        options.idleTimeout = nil
        options.tls = settings.tls
        let resolver = secrets.resolver
        let login = settings.user.flatMap { name in
            settings.password.map { reference in
                Login(name: name) {
                    Secret(String(decoding: try await resolver.resolve(reference), as: UTF8.self))
                }
            }
        }
        let transport = try RenewedTransport(of: settings.tls.files) { [options] in
            try PooledTransport(options: options, on: loop)
        }
        self.init(
            settings.endpoints,
            over: OwnRequests(over: transport),
            as: login,
            showing: settings.tls.clientCertificate == nil ? .none : .shown,
            onChange: { fault in
                report("state: \(fault.map(\.description) ?? "etcd serves again")")
            }
        )
    }
}

extension OAuthSettings.Grant {
    /// Whether the grant starts with a user's sign-in, or with a single-use refresh token.
    package var needsSignIn: Bool {
        switch self {
        case .refreshToken, .authorizationCode, .deviceCode: true
        case .clientCredentials, .jwtBearer, .tokenExchange, .githubApp, .byName: false
        }
    }
}
