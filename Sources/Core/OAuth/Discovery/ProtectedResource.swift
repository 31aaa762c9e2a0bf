import FoundationEssentials
import NetworkCore

/// The metadata of a protected resource (RFC 9728 §2), as far as a sign-in needs it.
package struct ProtectedResource: Sendable, Hashable {
    /// The resource identifier, byte for byte: tokens are requested for it (RFC 8707 §2).
    package let identifier: String
    /// The issuer identifiers of the authorization servers, byte for byte and each once: those that may be
    /// used, of which there is one at least, in the order of the document.
    package let issuers: [String]
    /// The scopes that the resource knows.
    package let scopes: [String]

    /// The document that names the servers.
    package let evidence: PinnedServer.Evidence

    /// Describes a resource without metadata, whose authorization server is its own origin
    /// (MCP 2025-03-26).
    init(withoutMetadata upstream: ServerEndpoint) {
        identifier = "\(upstream.origin)"
        issuers = [identifier]
        scopes = []
        evidence = .origin
    }

    private struct Document: Decodable {
        var resource: String
        var authorization_servers: [String]?
        var scopes_supported: [String]?
    }

    /// Reads a document.
    ///
    /// - Parameters:
    ///   - document: the JSON.
    ///   - upstream: the URL that requests go to, which the document must be about.
    ///   - place: where the document was found.
    ///   - plainHTTP: whether `http` is accepted for hosts other than this machine.
    /// - Throws: `MetadataError`.
    init(
        _ document: [UInt8],
        of upstream: ServerEndpoint,
        from place: ServerEndpoint,
        plainHTTP: ServerEndpoint.PlainHTTP
    ) throws(MetadataError) {
        let members: Document
        do {
            members = try JSONDecoder().decode(Document.self, from: Data(document))
        } catch {
            throw MetadataError(
                "\(place) is not the metadata of a protected resource: not a JSON object with a "
                    + "resource",
                .notMetadata
            )
        }
        guard let resource = ServerEndpoint(members.resource),
            ProtectedResource.covers(upstream, resource)
        else {
            let theirs = ServerWords.shown(members.resource)
            throw MetadataError(
                "\(place) is about the resource '\(theirs)', and the upstream is \(upstream): set "
                    + "upstream to the URL of the resource, if you trust it",
                .otherMetadata
            )
        }
        let named = members.authorization_servers ?? []
        guard !named.isEmpty else {
            throw MetadataError(
                "\(place) names no authorization server; set auth.oauth.issuer and client_id instead "
                    + "of discover"
            )
        }
        let usable = named.filter { text in
            guard let server = ServerEndpoint(text), !server.target.contains("?") else {
                return false
            }
            // A resource elsewhere may not name hosts of this machine.
            guard NamedHost.may(upstream.origin, name: server.origin) else { return false }
            return server.isAcceptable(plainHTTP)
        }
        guard !usable.isEmpty else {
            throw MetadataError(
                "no authorization server that \(place) names is an https URL without query on another "
                    + "host than this machine and its networks: "
                    + ServerWords.shown(named.prefix(4).joined(separator: ", "))
            )
        }
        evidence = .resource
        identifier = members.resource
        issuers = ScopeList.union(usable, [])
        scopes = (members.scopes_supported ?? []).filter(ScopeList.isScope)
    }

    /// The authorization server to use: the trusted one if the resource still names it, else the first.
    ///
    /// At least one exists.
    package func issuer(preferring trusted: String?) -> String {
        issuers.first { trusted.map($0.isSameIssuer) ?? true } ?? issuers[0]
    }

    /// The authorization servers beside one.
    package func otherIssuers(than issuer: String) -> [String] {
        issuers.filter { !$0.isSameIssuer(issuer) }
    }

    /// Whether a resource includes a URL: its origin is the same, and its path the same or a parent.
    ///
    /// RFC 9728 §3.3 has a client compare the identifier with the URL that it derived the document's place
    /// from. Resources that name their whole server are common, and say no more than what one origin may
    /// say about itself.
    package static func covers(_ url: ServerEndpoint, _ resource: ServerEndpoint) -> Bool {
        let (path, parent) = (TargetPath(url.target), TargetPath(resource.target))
        guard url.origin == resource.origin, parent.query == nil, !parent.hasDotSegments else {
            return false
        }
        let prefix = parent.path.hasSuffix("/") ? parent.path.dropLast() : parent.path
        return path.path == prefix || path.path.hasPrefix(prefix + "/")
    }

    /// The paths where the metadata of a URL may be (RFC 9728 §3.1): with the URL's path after the
    /// well-known part, and that of the whole origin.
    static func places(of target: String) -> [String] {
        let path = String(TargetPath(target).path)
        let root = "/.well-known/oauth-protected-resource"
        var places = path == "/" ? [] : [root + path]
        // A slash at the end is part of the identifier, but few servers mean it.
        if path.hasSuffix("/"), path != "/" { places.append(root + path.dropLast()) }
        return places + [root]
    }
}

extension ServerWords {
    /// A server's text in an error, without possible secrets.
    static func shown(_ text: String) -> String { clean(text, secrets: []) ?? "" }
}

extension String {
    /// Whether another issuer identifier is this one, up to the slash of an empty path: `https://a.example`
    /// and `https://a.example/` are one server, whose resources and whose own metadata often disagree
    /// about it.
    package func isSameIssuer(_ other: String) -> Bool {
        if self == other { return true }
        guard let one = ServerEndpoint(self), let two = ServerEndpoint(other) else { return false }
        return one.origin == two.origin && one.target == "/" && two.target == "/"
    }
}

extension PinnedServer {
    /// Returns a clause that names the differences from the resource found now; `nil` if there are none.
    package func change(to resource: ProtectedResource) -> String? {
        let issuer = resource.issuer(preferring: issuer)
        var changes: [String] = []
        if !self.issuer.isSameIssuer(issuer) {
            changes.append("the authorization server was \(self.issuer) and is now \(issuer)")
        }
        if self.resource != resource.identifier {
            changes.append(
                "the resource was \(self.resource) and is now \(resource.identifier)"
            )
        }
        return changes.isEmpty ? nil : changes.joined(separator: ", and ")
    }
}
