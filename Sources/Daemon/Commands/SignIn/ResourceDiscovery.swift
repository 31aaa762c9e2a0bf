import NetproxyConfig
import NetproxyPath
import NetworkCore
import OAuth

/// Finds the authorization server of a channel from its upstream's URL, and a client there, for
/// `netproxy login`.
///
/// Nothing else trusts an upstream's statement about its authorization server.
struct ResourceDiscovery: Sendable {
    /// The scope that requests a refresh token (OpenID Connect Core §11).
    private static let offlineAccess = "offline_access"
    /// The maximum number of authorization servers to try for a resource.
    private static let candidateLimit = 4

    let channel: ChannelConfiguration
    let settings: OAuthSettings
    let discovery: OAuthSettings.Discovery
    /// The transport for the upstream, without its credential.
    let upstream: any HTTPTransport
    /// The transport for authorization servers.
    let transport: any HTTPTransport
    let clock: any NetworkClock
    /// Prints a line for the user.
    let say: @Sendable (String) -> Void

    /// The options of a sign-in, in addition to the resource's metadata.
    struct Request: Sendable {
        /// Scopes to add, because the user names them or because a response of the API required them.
        var scopes: [String] = []
        var purpose = ClientRegistration.Purpose.browser
        var registration = SignIn.Registration.whenNeeded
    }

    /// The scopes of a client.
    private struct Scopes {
        /// The scopes of this sign-in.
        var wanted: [String]
        /// The scopes that a later sign-in may request.
        var possible: [String]
    }

    /// Queries the upstream and its server's metadata, prints the server, and registers a client if
    /// necessary.
    ///
    /// - Parameters:
    ///   - request: the options of the sign-in.
    ///   - pinned: the server that the user trusted before.
    /// - Returns: the server and its client.
    /// - Throws: `SignIn.Failure`.
    func find(_ request: Request, pinned: PinnedServer?) async throws(SignIn.Failure)
        -> PinnedServer
    {
        do {
            let found = try await ResourceProbe(
                over: upstream,
                clock: clock,
                plainHTTP: channel.allowInsecure ? .accepted : .refused
            ).find(channel.endpoint)
            if let change = pinned?.change(to: found.resource) {
                throw SignIn.Failure(
                    description:
                        "\(channel.name): \(change). Nothing was sent there. If that is right: "
                        + "netproxy logout \(channel.name), then netproxy login \(channel.name)"
                )
            }
            let metadata = try await metadata(of: found.resource, pinned)
            try check(metadata, for: request.purpose)
            let issuer = metadata.issuer ?? ""
            say("\(channel.name) (\(channel.endpoint)) is protected by \(issuer).")
            let scopes = scopes(found, metadata, request, pinned)
            let (client, origin) = try await client(
                at: metadata,
                Scopes(wanted: scopes, possible: found.resource.scopes),
                request,
                pinned
            )
            let server = PinnedServer(
                issuer: issuer,
                resource: found.resource.identifier,
                evidence: found.resource.evidence,
                client: client,
                scopes: scopes,
                ownPaths: metadata.paths(on: channel.endpoint.origin)
            )
            tell(server, found.resource, origin)
            return server
        } catch let error as SignIn.Failure {
            throw error
        } catch {
            throw SignIn.Failure(description: "\(channel.name): \(error)")
        }
    }

    // MARK: - The server

    /// Returns the metadata of the first server that has any.
    ///
    /// After an earlier sign-in, tries a single server: the trusted one, if the resource still names it.
    private func metadata(
        of resource: ProtectedResource,
        _ pinned: PinnedServer?
    ) async throws -> ServerMetadata {
        var candidates = Array(resource.issuers.prefix(Self.candidateLimit))
        if let pinned { candidates = [resource.issuer(preferring: pinned.issuer)] }
        if let issuer = settings.issuer {
            candidates = candidates.filter(issuer.isSameIssuer)
            guard !candidates.isEmpty else {
                throw SignIn.Failure(
                    description:
                        "\(channel.name): \(channel.endpoint) names the authorization server "
                        + "\(resource.issuers[0]), and auth.oauth.issuer is \(issuer). Nothing was sent "
                        + "there. If that server is right, set issuer to it and use a client of it"
                )
            }
        }
        var reasons: [String] = []
        for (index, issuer) in candidates.enumerated() {
            do throws(MetadataError) {
                return try await MetadataDirectory(
                    .named,
                    issuer: issuer,
                    transport: transport,
                    clock: clock,
                    plainHTTP: channel.allowInsecure ? .accepted : .refused
                ).metadata()
            } catch {
                guard resource.evidence == .resource else {
                    throw SignIn.Failure(
                        description: "\(channel.name): \(channel.endpoint) has no metadata of a "
                            + "protected resource (RFC 9728), and its origin is no authorization server: "
                            + "\(error)"
                    )
                }
                if candidates.count == 1 { throw error }
                reasons.append("\(issuer): \(error)")
                if index + 1 < candidates.count {
                    say("The server \(issuer) cannot be used: \(error)")
                }
            }
        }
        throw SignIn.Failure(
            description: "\(channel.name): none of the authorization servers that "
                + "\(resource.identifier) names can be used: \(reasons.joined(separator: "; "))"
        )
    }

    /// Rejects a server at which the user could not sign in, before registering a client there.
    private func check(
        _ server: ServerMetadata,
        for purpose: ClientRegistration.Purpose
    ) throws(SignInError) {
        let issuer = server.issuer ?? ""
        guard server.tokenEndpoint != nil else {
            throw SignInError("the metadata for \(issuer) names no token endpoint")
        }
        switch purpose {
        case .browser:
            guard server.authorizationEndpoint != nil else {
                throw SignInError(
                    "the metadata for \(issuer) names no authorization endpoint"
                        + (server.deviceEndpoint == nil ? "" : "; use --device")
                )
            }
            try AuthorizationCodeFlow.checkChallenges(of: server)
        case .device:
            guard server.deviceEndpoint != nil else {
                throw SignInError(
                    "the metadata for \(issuer) names no device authorization endpoint: sign in "
                        + "without --device"
                )
            }
        }
    }

    // MARK: - Scopes

    /// Returns the configured scopes, else those of the challenge, else those of the metadata, each with the
    /// scopes granted before and those wanted now.
    private func scopes(
        _ found: ResourceProbe.Finding,
        _ server: ServerMetadata,
        _ request: Request,
        _ pinned: PinnedServer?
    ) -> [String] {
        var scopes = settings.scopes
        if scopes.isEmpty {
            scopes =
                found.challengedScopes.isEmpty ? found.resource.scopes : found.challengedScopes
            if server.scopes?.contains(Self.offlineAccess) == true {
                scopes = ScopeList.union(scopes, [Self.offlineAccess])
            }
        }
        return ScopeList.union(ScopeList.union(scopes, pinned?.scopes ?? []), request.scopes)
    }

    // MARK: - The client

    /// Returns the client, and the origin of its ID as text.
    private func client(
        at server: ServerMetadata,
        _ scopes: Scopes,
        _ request: Request,
        _ pinned: PinnedServer?
    ) async throws -> (PinnedServer.Client, String) {
        if !settings.clientID.isEmpty {
            return (PinnedServer.Client(id: settings.clientID, kind: .configured), "configured")
        }
        if let url = discovery.clientMetadataURL, server.acceptsClientDocuments {
            return (PinnedServer.Client(id: url, kind: .document), "client_metadata_url")
        }
        if request.registration == .whenNeeded, let known = reusable(pinned, for: scopes.wanted) {
            return (
                known,
                "registered at an earlier sign-in; if the server does not know it any more: "
                    + "netproxy logout \(channel.name), then netproxy login \(channel.name)"
            )
        }
        let registration = ClientRegistration(
            with: server,
            redirect: try LoopbackRedirect.freeURI(for: settings.redirect),
            scopes: ScopeList.union(scopes.wanted, scopes.possible),
            for: request.purpose
        )
        if let place = server.registrationEndpoint { say("Registering a client at \(place).") }
        let client = try await registration.register(
            over: transport,
            clock: clock,
            plainHTTP: channel.allowInsecure ? .accepted : .refused
        )
        return (client, "registered now")
    }

    /// Returns the client of an earlier sign-in, if the server may still know it and its redirect port is
    /// free.
    private func reusable(
        _ pinned: PinnedServer?,
        for scopes: [String]
    ) -> PinnedServer.Client? {
        guard let client = pinned?.client, client.kind == .registered,
            client.isGood(at: clock.wallNow), client.covers(scopes),
            let redirect = client.redirect.flatMap(RedirectURI.init),
            settings.redirect.accepts(redirect), LoopbackRedirect.isFree(redirect)
        else { return nil }
        return client
    }

    // MARK: - Messages

    private func tell(_ server: PinnedServer, _ resource: ProtectedResource, _ origin: String) {
        say(
            "You are about to trust that server with your sign-in to \(server.resource), as the client "
                + "\(server.client.id) (\(origin)), "
                + (server.scopes.isEmpty
                    ? "for no particular scope."
                    : "for the scopes \(server.scopes.joined(separator: ", ")).")
        )
        let others = resource.otherIssuers(than: server.issuer).prefix(4)
        if !others.isEmpty {
            say("It also names \(others.joined(separator: ", ")), which is not used.")
        }
    }
}
