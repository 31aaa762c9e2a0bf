import NetproxyEventIO
import NetproxyHTTPMessage
package import NetworkCore

/// Sends netproxy's own requests, such as those to authorization servers, with a `User-Agent` field.
///
/// Firewalls of many servers refuse requests without one.
package struct OwnRequests: HTTPTransport {
    /// The value of the field (RFC 9110 §10.1.5).
    static let userAgent = "netproxy/\(LibraryVersions.ownVersion)"

    private let transport: any HTTPTransport

    /// Wraps the transport that sends the requests.
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

/// The versions of netproxy and of the system libraries that the daemon uses.
package enum LibraryVersions {
    /// The version of netproxy.
    package static let ownVersion = "0.1.0"

    /// One line for each library, with its loaded version.
    package static var versions: String {
        "libevent \(EventLoop.libraryVersion)\n\(TLSContext.libraryVersion)"
    }
}
