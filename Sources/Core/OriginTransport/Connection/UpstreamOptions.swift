package import NetproxyEventIO
package import NetworkCore

/// The rules for opening, keeping and closing connections to an origin.
public struct UpstreamOptions: Sendable {
    /// A version of TLS.
    public enum TLSVersion: Sendable, Hashable {
        /// RFC 5246.
        case tls12
        /// RFC 8446.
        case tls13
    }

    /// The versions of HTTP that connections may use.
    @nonexhaustive
    public enum HTTPVersions: Sendable, Hashable {
        /// With TLS what the origin chooses of HTTP/2 and HTTP/1.1 (ALPN, RFC 7301); without TLS HTTP/1.1.
        case automatic
        /// HTTP/1.1.
        case http1
        /// HTTP/2 and nothing else: chosen by ALPN with TLS, by prior knowledge without (RFC 9113 §3.3).
        case http2
    }

    /// The maximum duration of resolving, connecting and the TLS handshake together.
    ///
    /// Default 10 s; `nil` leaves it to the system.
    public var connectTimeout: Duration? = .seconds(10)
    /// The maximum time to the head of the response once the request is sent.
    ///
    /// Default 10 minutes, like the SDKs of language models, whose answers take that long; `nil` waits
    /// for as long as the server lives. A server that is gone is found by TCP, within 30 s, whatever
    /// the limit is.
    public var responseTimeout: Duration? = .seconds(600)
    /// How long no byte of a body may move, in either direction; also of a stream of events, and of a
    /// connection that has switched to another protocol.
    ///
    /// Default 10 minutes; `nil` for as long as the server lives.
    public var idleTimeout: Duration? = .seconds(600)
    /// The maximum number of connections, for each event loop; at least 1.
    ///
    /// Default 128.
    public var connections = 128
    /// How long a connection is kept without use; less where the server announces less
    /// (`Keep-Alive: timeout`).
    ///
    /// Default 90 s.
    public var keepAlive: Duration = .seconds(90)
    /// How many requests may wait for a connection, for each event loop; one more is
    /// `connection_limit_reached`.
    ///
    /// Default `nil`: any number.
    public var queueLength: Int?
    /// The maximum wait of a request for a connection, in addition to its own deadline.
    ///
    /// Default `nil`: as long as its deadline lets it.
    public var queueTimeout: Duration?
    /// A PEM file with the certificates to trust, or the PEM text itself; the system's roots if `nil`.
    public var authorities: String?
    /// Whether the system's roots count besides those of `authorities`.
    public var addsSystemRoots = false
    /// The oldest TLS version.
    ///
    /// Default 1.2.
    public var minimumTLSVersion = TLSVersion.tls12
    /// A PEM file with our own certificate chain, or the PEM text itself; it goes with `certificateKey`.
    public var certificate: String?
    /// A PEM file with the key of `certificate`, or the PEM text itself, without a passphrase.
    public var certificateKey: String?
    /// `sha256/BASE64` of public keys, one of which the chain must hold; empty: any chain.
    public var pins: [String] = []
    /// The name to request and to verify instead of the origin's host.
    public var serverName: String?
    /// Another proxy on the way to every origin; `nil`: that of `proxyEnvironment`, or none.
    public var proxy: ParentProxy?
    /// The proxies of the environment, for origins that they are for; `nil` ignores `http_proxy` and its
    /// like.
    ///
    ///     options.proxyEnvironment = try ProxyEnvironment()
    public var proxyEnvironment: ProxyEnvironment?
    /// The versions of HTTP that connections may use.
    ///
    /// Default `automatic`.
    public var versions = HTTPVersions.automatic
    /// The path of a unix socket on which the server of every origin listens, of 1 to 107 bytes, such as
    /// that of a container engine; no name is resolved and no proxy asked.
    public var unixSocket: String?

    /// The value of `Host` in requests.
    package enum SentHost: Sendable, Hashable {
        /// The origin's authority.
        case origin
        /// The request's own field, if it has one.
        case request
        /// A name with or without a port.
        case name(String)
    }

    /// The value of `Host` in requests.
    package var host = SentHost.origin

    /// How long a connection in HTTP/2 at work may be silent before it is asked whether it is there, and how
    /// long the answer may take.
    package var peerSilence = Duration.seconds(15)

    /// The names of these limits in errors.
    package var timeSettings = TimeSettings.options
    /// The source of the host names.
    package var nameSource = Resolver.Source.configuration
    /// The addresses of the origin that may be dialled.
    package var destinations = DestinationPolicy.any

    /// The defaults.
    public init() {}
}

extension UpstreamOptions {
    /// Refuses options that cannot work when they are set, not at the first request.
    ///
    /// - Throws: `proxy_internal_error` with the option, the expected value and the found one.
    func check() throws(NetworkError) {
        guard (certificate == nil) == (certificateKey == nil) else {
            let missing = certificate == nil ? "certificate" : "certificateKey"
            throw UpstreamOptions.unusable(missing, "the file that goes with the other", "nothing")
        }
        if let path = unixSocket, SocketAddress(unixPath: path) == nil {
            throw UpstreamOptions.unusable("unixSocket", "a path of 1 to 107 bytes", path)
        }
        guard connections >= 1 else {
            throw UpstreamOptions.unusable("connections", "at least 1", "\(connections)")
        }
    }

    static func unusable(
        _ option: String,
        _ expected: String,
        _ found: String
    ) -> NetworkError {
        NetworkError(
            .internalError,
            side: .proxy,
            detail: "UpstreamOptions.\(option): expected \(expected), found '\(found)'"
        )
    }
}
