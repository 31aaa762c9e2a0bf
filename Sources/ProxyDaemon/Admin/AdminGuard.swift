import HTTPMessage

/// What keeps web pages away from an admin socket that is a TCP port (contract section 6).
///
/// A value: it only judges.
struct AdminGuard {
    /// Why a call is refused.
    struct Refusal: Error {
        let status: HTTPStatus
        let detail: String
    }

    /// Judges a call.
    ///
    /// - Throws: `Refusal` for a name that was rebound to this machine, for a request of another
    ///   site's page, and for one that changes something without the field that no page can send.
    static func check(_ call: LocalServer.Call) throws(Refusal) {
        guard let host = call.host, Origin.isLoopback(host.host) else {
            throw Refusal(status: 421, detail: "the admin socket answers to loopback names only")
        }
        // The page at `/` itself; every other one is foreign, on whatever port.
        let own = call.headers[.host].map { "http://\($0.lowercased())" }
        let sites = call.headers.values(of: .secFetchSite)
        guard call.headers.values(of: .origin).allSatisfy({ $0.lowercased() == own }),
            sites.allSatisfy({ $0 == "none" || $0 == "same-origin" })
        else { throw Refusal(status: 403, detail: "requests of other web pages are refused") }
        if call.method != .get, call.method != .head, call.headers["Netproxy-Admin"] != "1" {
            throw Refusal(status: 403, detail: "the field Netproxy-Admin: 1 is needed")
        }
    }
}
