import Bytes
import EventIO
import HTTPMessage
import NetworkCore
import OAuth
import OriginTransport
import ProxyConfig
import RequestLog

extension ChannelAssembly {
    /// Returns what adds a channel's credential; `nil` for a channel without `auth`.
    ///
    /// - Throws: an error that names the channel and the key, for a secret that cannot be read or
    ///   that no field may hold.
    func authorizer(
        _ channel: ChannelConfiguration,
        _ log: ChannelLog
    ) async throws -> (any Authorizing)? {
        switch channel.authentication {
        case .none: return nil
        case .exec(let command):
            return HelperAuthorizer(
                HelperTokens(
                    channel: channel.name,
                    command: command,
                    environment: environment,
                    report: report
                ),
                onEvent: events(of: channel.name, log)
            )
        case .oauth(let settings): return try await oauth(settings, of: channel, log: log)
        case .bearer(let reference):
            return try await fixed("bearer", reference, of: channel) {
                token throws(NetworkError) in
                try StaticAuthorizer.bearer(token)
            }
        case .basic(let username, let reference):
            return try await fixed("basic", reference, of: channel) {
                password throws(NetworkError) in
                try StaticAuthorizer.basic(username: username, password: password)
            }
        case .header(let name, let reference):
            guard let field = HTTPFieldName(name) else {
                throw IOError.system(
                    "channel \(channel.name): auth.header.name is not a valid field name"
                )
            }
            return try await fixed("header", reference, of: channel) {
                value throws(NetworkError) in
                try StaticAuthorizer.header(field, value)
            }
        }
    }

    /// Returns an authorizer for a fixed credential; one that can be replaced while the daemon runs is
    /// read again after a 401.
    private func fixed(
        _ key: String,
        _ reference: SecretReference,
        of channel: ChannelConfiguration,
        _ make: @escaping @Sendable (Secret) throws(NetworkError) -> StaticAuthorizer
    ) async throws -> any Authorizing {
        let place = "channel \(channel.name): auth.\(key)"
        let secret = try await secrets.secret(reference)
        let first: StaticAuthorizer
        do throws(NetworkError) {
            first = try make(secret)
        } catch {
            throw IOError.system("\(place): \(error.detail)")
        }
        guard reference.isFile || reference.isProgram else { return first }
        let (resolver, report, seldom) = (secrets.resolver, report, RateLimitedReport(report))
        return RotatingAuthorizer(
            first,
            effort: reference.isProgram ? .program : .file,
            read: {
                let bytes = try await resolver.resolve(reference)
                return try make(Secret(String(decoding: bytes, as: UTF8.self)))
            },
            onChange: {
                report("\(place): the API rejected it; using the new value from \(reference)")
            },
            onNoChange: {
                guard case .credential = reference else { return }
                // systemd copies credentials when it starts the service; a reload does not.
                seldom(
                    "\(place): the API rejected it, and \(reference) is unchanged: after changing its "
                        + "source (LoadCredential=), restart the service"
                )
            },
            onFault: { error in
                let words = (error as? NetworkError)?.detail ?? "\(error)"
                seldom("\(place): the API rejected it, and there is no new value: \(words)")
            }
        )
    }

    private func oauth(
        _ settings: OAuthSettings,
        of channel: ChannelConfiguration,
        log: ChannelLog
    ) async throws -> OAuthManager {
        let client: OAuthClient
        do {
            client = try await oauthClients.client(settings, of: channel)
        } catch let error as IOError {
            throw IOError.system("channel \(channel.name): \(error)")
        }
        return OAuthManager(
            service: client.service,
            tokenStore: client.store,
            configuration: client.configuration,
            onEvent: events(of: channel.name, log)
        )
    }

    /// Reports a refresh token that two channels begin with, unless both were there before: a server that
    /// rotates it takes the second use for theft and ends both sessions (RFC 9700 §4.14.2).
    func reportSharedSeeds(among channels: [ChannelShared], besides present: [ChannelShared]) {
        for (index, channel) in channels.enumerated() {
            guard let seed = channel.seed,
                let other = channels[..<index].first(where: { $0.seed == seed }),
                ![channel, other].allSatisfy({ known in present.contains { $0 === known } })
            else { continue }
            report(
                "channels \(other.name) and \(channel.name): the same refresh_token; a server that "
                    + "rotates it ends both sessions: give each channel its own"
            )
        }
    }

    private func events(
        of name: String,
        _ log: ChannelLog
    ) -> @Sendable (OAuthEvent) -> Void {
        { [report, tokenRequests] event in
            tokenRequests.count(event, of: name)
            if let record = event.record { log.write(record) }
            if let line = event.line { report("channel \(name): \(line)") }
        }
    }
}

extension ChannelShared {
    /// The configured refresh token that the channel begins with.
    fileprivate var seed: Secret? {
        guard case .oauth(let settings) = configuration.authentication,
            settings.grant == .refreshToken, let reference = settings.refreshToken
        else { return nil }
        return inputs.secrets[reference]
    }
}
