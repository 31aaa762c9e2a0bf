import NetproxyBytes
import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxySettings
package import NetworkCore

/// The remote end of a pool's connections, with the common parts of all requests to it.
package final class UpstreamPeer {
    /// The source of the requests, which determines what can end them.
    package enum Service: Sendable {
        /// Requests of arbitrary tasks.
        ///
        /// Canceling the task ends a wait. The deadline applies to the head, since a caller may read a body
        /// for any length of time.
        case callers
        /// Requests of the clients that are connected to this loop.
        ///
        /// The end of the client's connection ends a wait through its `AbortRelay`. The deadline applies to
        /// the whole response.
        case connections
    }

    package let origin: Origin
    package let options: UpstreamOptions
    let service: Service
    /// The prefix of a request's path: empty, or the origin if a proxy forwards plain requests (RFC 9112
    /// §3.2.2).
    private let targetPrefix: String

    init(_ origin: Origin, _ options: UpstreamOptions, serving service: Service) {
        self.origin = origin
        self.options = options
        self.service = service
        // A unix socket leads to the server itself, regardless of any configured proxy.
        let proxy = options.unixSocket == nil ? options.proxy : nil
        let isRelayed = proxy.map { !$0.isSOCKS && origin.scheme == .http } ?? false
        targetPrefix = isRelayed ? origin.description : ""
    }

    /// Whether requests may share an HTTP/2 connection.
    var maySpeakHTTP2: Bool {
        switch options.versions {
        case .http1: false
        case .http2, .http2PriorKnowledge: targetPrefix.isEmpty
        case .automatic: origin.scheme == .https
        }
    }

    /// The protocols offered in TLS (RFC 7301), in order of preference.
    var offer: [String] {
        switch options.versions {
        case .http1: offersHTTP1
        case .http2: ["h2"]
        case .http2PriorKnowledge: []
        case .automatic: ["h2", "http/1.1"]
        }
    }

    /// Whether only HTTP/2 is acceptable.
    var insistsOnHTTP2: Bool {
        options.versions == .http2 || options.versions == .http2PriorKnowledge
    }

    /// Whether a new connection speaks HTTP/2.
    func speaksHTTP2(over socket: StreamSocket) -> Bool {
        origin.scheme == .http || options.versions == .http2PriorKnowledge
            || socket.chosenProtocol == "h2"
    }

    /// The error if an origin does not choose HTTP/2 although only HTTP/2 is acceptable.
    var lacksHTTP2: NetworkError {
        let remedy =
            options.timeSettings == .channel
            ? "http: http2-prior" : "UpstreamOptions.HTTPVersions.http2PriorKnowledge"
        return NetworkError(
            .tlsProtocolError,
            side: .upstream,
            retry: .safe,
            detail: "\(origin.authority) does not choose HTTP/2, and nothing else is wanted here; "
                + "if it speaks HTTP/2 without ALPN, use \(remedy)"
        )
    }

    /// The protocols offered in TLS for an HTTP/1 connection.
    let offersHTTP1 = ["http/1.1"]

    /// Returns the limit of a phase of an attempt, for the error of a timeout; `nil` for other phases.
    func setting(of phase: TimeoutPhase) -> TimeSetting? {
        let names = options.timeSettings
        return switch phase {
        // The queue times out only if it has a limit.
        case .queue: names.setting("pool.wait", "queueTimeout", options.queueTimeout ?? .zero)
        case .resolving, .connecting, .handshake:
            names.setting("timeouts.connect", "connectTimeout", options.connectTimeout)
        case .awaitingHead:
            names.setting("timeouts.response", "responseTimeout", options.responseTimeout)
        case .sending, .readingBody:
            names.setting("timeouts.idle", "idleTimeout", options.idleTimeout)
        case .total, .credential, .requestHead, .requestBody, .requestBodyRate, .delivery, .tunnel:
            nil
        }
    }

    /// Translates an I/O error on a connection to this peer.
    ///
    /// - Parameters:
    ///   - fault: the error of the system or of TLS.
    ///   - phase: the phase of the attempt.
    ///   - mayBeStale: whether the connection may have been dead before it left the pool.
    /// - Returns: the `NetworkError`.
    func error(
        _ fault: IOError,
        in phase: TimeoutPhase,
        mayBeStale: Bool = false
    ) -> NetworkError {
        FaultTable.error(
            fault,
            in: phase,
            to: origin.authority,
            after: fault == .timedOut ? setting(of: phase) : nil,
            onceSent: mayBeStale ? .idempotentOnly : .unsafe
        )
    }

    /// Returns the error for a 407; `nil` if no proxy responds for the origin.
    func refusal(_ headers: HTTPHeaders) -> NetworkError? {
        targetPrefix.isEmpty ? nil : options.proxy?.refusal(headers)
    }

    /// Writes a request's head in the form that the peer expects, which is the origin or a forwarding proxy.
    func encodeHead(
        of request: borrowing Request,
        _ framing: BodyFraming,
        into output: OutputBuffer
    ) {
        HeadEncoder.encodeRequest(
            method: request.method,
            target: targetPrefix.isEmpty ? request.target : absoluteForm(of: request.target),
            host: host(of: request),
            headers: request.headers,
            framing: framing,
            hopFields: targetPrefix.isEmpty
                ? HopFields.of(request.headers) : hopFields(forProxy: request.headers),
            into: output
        )
    }

    private func host(of request: borrowing Request) -> String {
        switch options.host {
        case .upstream: return request.origin.authority
        case .name(let name): return name
        case .app:
            // HTTP/1.0 requires no `Host`, and an empty one names no host.
            guard let host = request.headers[.host], !host.isEmpty else {
                return request.origin.authority
            }
            return host
        }
    }

    /// Returns the hop-by-hop fields for the proxy on the way.
    private func hopFields(forProxy headers: HTTPHeaders) -> HTTPHeaders {
        var fields = HopFields.of(headers)
        options.proxy?.authorize(&fields)
        return fields
    }

    /// Returns the target for the proxy on the way (RFC 9112 §3.2.2).
    private func absoluteForm(of target: String) -> String {
        target == "*" ? targetPrefix : targetPrefix + target
    }
}
