import NetproxyEventIO
import NetproxyHTTPMessage
package import NetworkCore

/// Sends requests that no app has made, such as those to authorization servers, with a `User-Agent` of
/// their own: firewalls in front of many servers refuse requests without one.
package struct OwnRequests: HTTPTransport {
    /// What the field says (RFC 9110 §10.1.5).
    static let userAgent = "netproxy/\(LibraryVersions.ownVersion)"

    private let transport: any HTTPTransport

    /// Wraps the transport that sends.
    package init(over transport: any HTTPTransport) {
        self.transport = transport
    }

    package func send(_ request: Request, context: inout RequestContext) async throws -> Response {
        var request = request
        if !request.headers.contains(HTTPFieldName.userAgent) {
            request.headers.append(.userAgent, validated: Self.userAgent)
        }
        return try await transport.send(request, context: &context)
    }
}

/// The version of netproxy, and the system libraries that the daemon runs on.
package enum LibraryVersions {
    /// The version of netproxy itself.
    package static let ownVersion = "0.1.0"

    /// One line for each library, with the version that is loaded.
    package static var versions: String {
        "libevent \(EventLoop.libraryVersion)\n\(TLSContext.libraryVersion)"
    }
}
