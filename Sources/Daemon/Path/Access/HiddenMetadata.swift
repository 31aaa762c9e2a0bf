import NetproxyBytes
import NetproxyConfig
import NetproxyHTTPMessage
import NetworkCore
import OAuth

/// Hides the metadata and the endpoints that a client would use to sign in past netproxy.
///
/// On a channel where netproxy signs in itself, a client needs neither the well-known documents nor the
/// authorization server's endpoints on the API's own origin.
package struct HiddenMetadata: Sendable {
    /// The well-known names of the metadata of a protected resource (RFC 9728 §3) and of its authorization
    /// server (RFC 8414 §3, OpenID Connect Discovery §4), which older clients request from the resource.
    private static let documents: Set<String> = [
        "oauth-protected-resource", "oauth-authorization-server", "openid-configuration",
    ]
    /// The endpoints that an MCP client assumes at the root of a server without metadata.
    private static let assumed = [["authorize"], ["token"], ["register"]]

    /// The hidden endpoints, as the segments of their paths.
    private let endpoints: Set<[String]>

    /// Creates the hidden set of a channel; `nil` if clients may sign in themselves.
    init?(of server: PinnedServer?, on channel: ChannelConfiguration) {
        guard channel.discovery != nil else { return nil }
        self.init(of: server, at: channel.endpoint)
    }

    /// Creates the hidden set of an API.
    ///
    /// - Parameters:
    ///   - server: the authorization server trusted at the last sign-in.
    ///   - upstream: the URL of the API.
    init(of server: PinnedServer?, at upstream: ServerEndpoint) {
        var endpoints = Set((server?.ownPaths ?? []).map { Self.segments(of: $0) })
        let issuer = server.flatMap { ServerEndpoint($0.issuer) }
        if issuer?.origin == upstream.origin, upstream.target == "/" {
            endpoints.formUnion(Self.assumed)
        }
        self.endpoints = endpoints
    }

    /// Refuses a request for a hidden resource.
    ///
    /// - Parameter target: the target of the upstream request.
    /// - Throws: `http_request_denied` with 404, the response of an unprotected resource.
    func check(_ target: String) throws(NetworkError) {
        let segments = Self.segments(of: String(TargetPath(target).path))
        guard endpoints.contains(segments) || Self.isDocument(segments) else { return }
        throw NetworkError(
            .httpRequestDenied,
            side: .downstream,
            detail:
                "netproxy signs in to this API by itself (auth.oauth.discover); the app needs no "
                + "token and no sign-in",
            status: 404
        )
    }

    private static func isDocument(_ segments: [String]) -> Bool {
        zip(segments, segments.dropFirst()).contains {
            $0 == ".well-known" && documents.contains($1)
        }
    }

    /// Returns the segments of a path in the reading of a lenient server: decoded, in lower case, without
    /// path parameters, empty segments and dot segments.
    private static func segments(of path: String) -> [String] {
        var kept: [String] = []
        let decoded = decoded(Array(path.utf8)).map { $0 == UInt8(ascii: "\\") ? slash : $0 }
        for part in decoded.split(separator: slash) {
            let text = part.prefix { $0 != UInt8(ascii: ";") }
            switch String(decoding: text, as: UTF8.self).lowercased() {
            case "", ".": break
            case "..": if !kept.isEmpty { kept.removeLast() }
            case let segment: kept.append(segment)
            }
        }
        return kept
    }

    private static let slash = UInt8(ascii: "/")

    /// Returns the bytes with two levels of percent-encoding removed.
    private static func decoded(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.contains(UInt8(ascii: "%")) else { return bytes }
        var bytes = bytes
        for _ in 0..<2 { bytes = decodedOnce(bytes) }
        return bytes
    }

    private static func decodedOnce(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count,
                let high = Grammar.hexValue(bytes[index + 1]),
                let low = Grammar.hexValue(bytes[index + 2])
            {
                result.append(high << 4 | low)
                index += 3
            } else {
                result.append(bytes[index])
                index += 1
            }
        }
        return result
    }
}
