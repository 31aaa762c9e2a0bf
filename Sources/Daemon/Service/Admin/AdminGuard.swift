import NetproxyHTTPMessage

/// The reason for refusing an admin request.
struct AdminRefusal: Error {
    let status: HTTPStatus
    let detail: String
}

/// Protects an admin socket on a TCP port from web pages (contract section 6).
enum AdminGuard {
    /// Checks a request.
    ///
    /// - Throws: `AdminRefusal` for a DNS name rebound to this machine, for a request from another site's
    ///   page, and for a change without the field that no page can send.
    static func check(_ call: LocalServer.Call) throws(AdminRefusal) {
        guard let host = call.host, host.isLoopbackName else {
            throw AdminRefusal(
                status: 421,
                detail: "the admin socket answers to loopback names only"
            )
        }
        // Accept only the page at `/` itself; a page on any other port is foreign.
        let own = call.headers[.host].map { "http://\($0.lowercased())" }
        let sites = call.headers.values(of: .secFetchSite)
        guard call.headers.values(of: .origin).allSatisfy({ $0.lowercased() == own }),
            sites.allSatisfy({ $0 == "none" || $0 == "same-origin" })
        else { throw AdminRefusal(status: 403, detail: "requests of other web pages are refused") }
        if call.method != .get, call.method != .head, call.headers["Netproxy-Admin"] != "1" {
            throw AdminRefusal(status: 403, detail: "the field Netproxy-Admin: 1 is needed")
        }
    }
}
