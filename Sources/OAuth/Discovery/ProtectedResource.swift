import FoundationEssentials
import NetworkCore

/// The metadata of a protected resource (RFC 9728 §2), as far as a sign-in needs it.
package struct ProtectedResource: Sendable, Hashable {
    /// The resource identifier, byte for byte: tokens are requested for it (RFC 8707 §2).
    package let identifier: String
    /// The issuer identifier of the authorization server, byte for byte: the first one that is `https`.
    package let issuer: String
    /// The other authorization servers that the document names; none of them is asked.
    package let otherIssuers: [String]
    /// The scopes that the resource knows.
    package let scopes: [String]

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
    ///   - allowsInsecure: whether `http` is accepted for hosts other than this machine.
    /// - Throws: `MetadataError`.
    init(
        _ document: [UInt8],
        of upstream: ServerEndpoint,
        from place: ServerEndpoint,
        allowsInsecure: Bool
    ) throws(MetadataError) {
        let members: Document
        do {
            members = try JSONDecoder().decode(Document.self, from: Data(document))
        } catch {
            throw MetadataError(
                "\(place) is not the metadata of a protected resource: not a JSON object with a "
                    + "resource",
                isNotMetadata: true
            )
        }
        guard let resource = ServerEndpoint(members.resource),
            ProtectedResource.covers(upstream, resource)
        else {
            let theirs = ServerWords.shown(members.resource)
            throw MetadataError(
                "\(place) is about the resource '\(theirs)', and the upstream is \(upstream): set "
                    + "upstream to the URL of the resource, if you trust it",
                isNotMetadata: true
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
            // What is on this machine is no business of a resource elsewhere.
            return server.origin.scheme == .https || allowsInsecure
                || server.origin.isLoopback && upstream.origin.isLoopback
        }
        guard let issuer = usable.first else {
            throw MetadataError(
                "no authorization server that \(place) names is an https URL without query: "
                    + ServerWords.shown(named.prefix(4).joined(separator: ", "))
            )
        }
        identifier = members.resource
        self.issuer = issuer
        otherIssuers = usable.dropFirst().filter { $0 != issuer }
        scopes = (members.scopes_supported ?? []).filter(ScopeList.isScope)
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
    /// A server's text in an error, without what could be a secret.
    static func shown(_ text: String) -> String { clean(text, secrets: []) ?? "" }
}
