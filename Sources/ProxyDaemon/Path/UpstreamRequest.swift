import EventIO
import HTTP1
import HTTPMessage
import NetworkCore

/// Turns an app's request into the one that goes upstream: what is meant for this hop is taken out
/// before any interceptor puts its own in.
struct UpstreamRequest {
    /// The pseudonym in `Via`, different for every process so that a loop is told from a chain.
    let pseudonym: String
    private let via10: String
    private let via11: String

    init(pseudonym: String) {
        self.pseudonym = pseudonym
        via10 = "1.0 \(pseudonym)"
        via11 = "1.1 \(pseudonym)"
    }

    /// Builds the request, and takes the field section out of the head for it.
    ///
    /// - Throws: `proxy_loop_detected` when the request passed here before.
    func make(
        _ head: inout RequestHead,
        for origin: Origin,
        target: String,
        body: HTTPBody,
        requestID: String,
        protecting credential: [HTTPFieldName],
        ruling ruled: [HTTPFieldName],
        nominated: inout [HTTPFieldName]
    ) throws(NetworkError) -> Request {
        let upgrade =
            head.headers.contains(KnownField.upgrade) ? try UpgradeOffer.protocols(of: head) : nil
        let takesTrailers = head.takesTrailers
        // Moved, not copied: what is added below is written in place.
        var headers = HTTPHeaders()
        swap(&headers, &head.headers)
        nominated = HopByHop(removingFrom: &headers, protecting: credential).refused
        headers.removeImitations(of: ruled)
        if headers.contains(HTTPFieldName.expect) {
            // Only a body that is still to come can wait for a 100.
            if case .stream = body, head.expectsContinue {
            } else {
                headers.remove(HTTPFieldName.expect)
            }
        }
        // Trailers of a request are dropped, so none are announced.
        if headers.contains(KnownField.trailer) { headers.remove(HTTPFieldName.trailer) }
        if takesTrailers { headers.append(.te, validated: "trailers") }
        if headers.contains(KnownField.maxForwards) {
            try MaxForwards.countDown(&headers, of: head.method)
        }
        if let upgrade { headers.append(.upgrade, validated: upgrade) }
        if headers.contains(HTTPFieldName.via) { try checkLoop(headers) }
        headers.append(.via, validated: head.version == .http10 ? via10 : via11)
        if !headers.contains(HTTPFieldName.xRequestId) {
            headers.append(.xRequestId, validated: requestID)
        }
        return Request(
            method: head.method,
            origin: origin,
            target: target,
            headers: headers,
            body: body
        )
    }

    /// The `Via` of a response: which version the upstream spoke, and who we are.
    func via(_ context: RequestContext) -> String {
        context.speaksHTTP10 ? via10 : via11
    }

    private func checkLoop(_ headers: HTTPHeaders) throws(NetworkError) {
        let isLoop = headers.elements(of: .via).contains { hop in
            let parts = hop.split { $0 == " " || $0 == "\t" }
            return parts.count >= 2 && parts[1] == pseudonym
        }
        guard isLoop else { return }
        throw NetworkError(
            .proxyLoopDetected,
            side: .downstream,
            detail: "the request passed through this proxy before; does a channel point at it?",
            status: 508
        )
    }
}

extension RequestHead {
    /// Whether the app reads trailer fields (RFC 9110 §10.1.4).
    var takesTrailers: Bool {
        guard version == .http11, headers.contains(KnownField.te) else { return false }
        return headers.elements(of: .te).contains { coding in
            let name = coding.prefix { $0 != " " && $0 != "\t" && $0 != ";" }
            return Grammar.equalIgnoringCase(String(name), "trailers")
        }
    }
}
