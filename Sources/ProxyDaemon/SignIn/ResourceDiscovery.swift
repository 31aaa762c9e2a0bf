import NetworkCore
import OAuth
import ProxyConfig

/// Finds the authorization server of a channel by its upstream's URL, and a client there, for
/// `netproxy login`.
///
/// Nothing else follows what an upstream says about its authorization server.
struct ResourceDiscovery: Sendable {
    /// The scope by which a server is asked for a refresh token (OpenID Connect Core §11).
    private static let offlineAccess = "offline_access"

    let channel: ChannelConfiguration
    let settings: OAuthSettings
    let discovery: OAuthSettings.Discovery
    /// Speaks to the upstream, without its credential.
    let upstream: any HTTPTransport
    /// Speaks to authorization servers.
    let transport: any HTTPTransport
    let clock: any NetworkClock

    /// What a sign-in asks for beyond what the resource says.
    struct Request: Sendable {
        /// Scopes to add: by hand, or because the API missed them.
        var scopes: [String] = []
        var purpose = ClientRegistration.Purpose.browser
        var registration = SignIn.Registration.whenNeeded
    }

    /// The scopes of a client.
    private struct Scopes {
        /// Those of this sign-in.
        var wanted: [String]
        /// Those that another one may ask for.
        var possible: [String]
    }

    /// What was found, and the lines that tell the user.
    struct Finding: Sendable {
        var server: PinnedServer
        var lines: [String]
    }

    /// Asks the upstream, and its server about itself; registers a client if it has to.
    ///
    /// - Parameters:
    ///   - request: what the sign-in asks for.
    ///   - pinned: the server that was trusted before.
    /// - Returns: the server and its client.
    /// - Throws: `SignIn.Failure`.
    func find(_ request: Request, pinned: PinnedServer?) async throws(SignIn.Failure) -> Finding {
        do {
            let found = try await ResourceProbe(
                over: upstream,
                clock: clock,
                allowsInsecure: channel.allowInsecure
            ).find(channel.endpoint)
            if let change = pinned?.change(to: found.resource) {
                throw SignIn.Failure(
                    description:
                        "\(channel.name): \(change). Nothing was sent there. If that is right: "
                        + "netproxy logout \(channel.name), then netproxy login \(channel.name)"
                )
            }
            let directory = MetadataDirectory(
                issuer: found.resource.issuer,
                transport: transport,
                clock: clock,
                allowsInsecure: channel.allowInsecure
            )
            let metadata = try await directory.metadata()
            let scopes = scopes(found, metadata, request, pinned)
            let (client, origin) = try await client(
                at: metadata,
                Scopes(wanted: scopes, possible: found.resource.scopes),
                request,
                pinned
            )
            let server = PinnedServer(
                issuer: found.resource.issuer,
                resource: found.resource.identifier,
                client: client,
                scopes: scopes
            )
            return Finding(server: server, lines: lines(server, found.resource, origin))
        } catch let error as SignIn.Failure {
            throw error
        } catch {
            throw SignIn.Failure(description: "\(channel.name): \(error)")
        }
    }

    // MARK: - Scopes

    /// The configured scopes, else those of the challenge, else those of the metadata; with them those that
    /// were granted before and those that are wanted now.
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

    /// The client, and how it came by its id, for people.
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
        let client = try await registration.register(
            over: transport,
            clock: clock,
            allowsInsecure: channel.allowInsecure
        )
        return (client, "registered now")
    }

    /// The client of an earlier sign-in, if the server may still know it and its redirect is free.
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

    // MARK: - Words

    private func lines(
        _ server: PinnedServer,
        _ resource: ProtectedResource,
        _ origin: String
    ) -> [String] {
        var lines = [
            "\(channel.name) (\(channel.endpoint)) is protected by \(server.issuer).",
            "You are about to trust that server with your sign-in to \(server.resource), as the client "
                + "\(server.client.id) (\(origin)), "
                + (server.scopes.isEmpty
                    ? "for no particular scope."
                    : "for the scopes \(server.scopes.joined(separator: ", "))."),
        ]
        if !resource.otherIssuers.isEmpty {
            let others = resource.otherIssuers.prefix(4).joined(separator: ", ")
            lines.append("It also names \(others), which is not asked.")
        }
        return lines
    }
}

extension ChannelConfiguration {
    /// The URL that requests begin with: that of the resource.
    var endpoint: ServerEndpoint {
        guard let first = upstreams.first else { return "" }
        return ServerEndpoint(
            origin: first.origin,
            target: first.basePath.isEmpty ? "/" : first.basePath
        )
    }
}
