import NetproxyEventIO
import NetproxyHTTP1
import NetproxyHTTPMessage
@_spi(Proxying) import NetworkCore

/// The destination of a request.
struct ForwardPlan {
    let origin: Origin
    /// The path and query for the upstream, byte for byte; a credential in the path is replaced by its
    /// marker, unless it is the client's own.
    let target: String
    /// The same target without the client's own credential.
    let shownTarget: String
}

/// Turns a client's request into the upstream request.
///
/// Hop-by-hop fields are removed before any interceptor adds fields.
package struct UpstreamRequest {
    /// The pseudonym in `Via`, different for every process, to distinguish a loop from a chain.
    let pseudonym: String
    private let via10: String
    private let via11: String
    private let via20: String
    /// The known fields that are for this proxy or need special treatment.
    private static let special = KnownFieldSet(.trailer, .maxForwards, .expect, .via)

    package init(pseudonym: String) {
        self.pseudonym = pseudonym
        via10 = "1.0 \(pseudonym)"
        via11 = "1.1 \(pseudonym)"
        via20 = "2.0 \(pseudonym)"
    }

    /// Creates the upstream request, and moves the field section out of the head.
    ///
    /// - Parameters:
    ///   - head: the client's request.
    ///   - plan: the destination.
    ///   - channel: the channel of the request, if any claims it.
    ///   - body: the content.
    ///   - requestID: the id of the request, unless the client sent one.
    ///   - version: the version of the client's request.
    /// - Returns: the upstream request, and the protected fields that `Connection` tried to remove.
    /// - Throws: `proxy_loop_detected` if the request passed through this proxy before.
    func make(
        _ head: inout RequestHead,
        _ plan: borrowing ForwardPlan,
        of channel: Channel?,
        body: HTTPBody,
        requestID: String,
        over version: HTTPVersion
    ) throws(NetworkError) -> (request: Request, refusedNominations: [HTTPFieldName]) {
        let upgrade =
            head.headers.contains(KnownField.upgrade) ? UpgradeOffer.protocols(of: head) : nil
        let takesTrailers = head.takesTrailers
        // Moved, not copied: fields are added in place.
        var headers = HTTPHeaders()
        swap(&headers, &head.headers)
        let rules = channel?.rules
        let hopByHop = HopByHop(
            removingFrom: &headers,
            protecting: rules?.credentialFields ?? []
        )
        if let rules, !rules.ruledFields.isEmpty {
            headers.removeImitations(of: rules.ruledFields)
        }
        let known = headers.knownFields
        if !known.isDisjoint(with: UpstreamRequest.special) {
            try handleSpecialFields(in: &headers, of: head, body)
        }
        if takesTrailers { headers.append(.te, validated: "trailers") }
        if let upgrade { headers.append(.upgrade, validated: upgrade) }
        var mayComeBack = false
        if !known.contains(.xRequestId) {
            headers.append(.xRequestId, validated: requestID)
        } else if channel?.detectsCircles == true {
            // A circle of several proxies is not visible in any one configuration, but each of them
            // preserves the id.
            mayComeBack = headers[.xRequestId].map(RequestIDs.areMade) ?? false
        }
        if channel?.announcesProxy != false || mayComeBack {
            let received = version == .http2 ? via20 : via11
            headers.append(.via, validated: head.version == .http10 ? via10 : received)
        }
        // Many APIs refuse a request without `User-Agent` (RFC 9110 §10.1.5).
        if !known.contains(.userAgent), rules?.fillsInUserAgent == true {
            headers.append(.userAgent, validated: OwnRequests.userAgent)
        }
        let request = Request(
            method: head.method,
            origin: plan.origin,
            target: plan.target,
            headers: headers,
            body: body
        )
        return (request, hopByHop.refused)
    }

    // Never inlined: few requests have any of these fields.
    @inline(never)
    private func handleSpecialFields(
        in headers: inout HTTPHeaders,
        of head: borrowing RequestHead,
        _ body: HTTPBody
    ) throws(NetworkError) {
        if headers.contains(HTTPFieldName.expect) {
            // Only content that has not arrived can wait for a 100.
            if case .stream = body, head.expectsContinue {
            } else {
                headers.remove(HTTPFieldName.expect)
            }
        }
        // Trailers of a request are dropped, so they must not be announced.
        if headers.contains(KnownField.trailer) { headers.remove(HTTPFieldName.trailer) }
        if headers.contains(KnownField.maxForwards) {
            try MaxForwards.countDown(&headers, of: head.method)
        }
        if headers.contains(HTTPFieldName.via) { try checkLoop(headers) }
    }

    /// Returns the `Via` of a response: the version of the upstream's response, and our pseudonym.
    func via(_ context: RequestContext) -> String {
        switch context.version {
        case .http10: via10
        case .http11: via11
        case .http2: via20
        }
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
    /// Whether the client reads trailer fields (RFC 9110 §10.1.4).
    var takesTrailers: Bool {
        guard version == .http11, headers.contains(KnownField.te) else { return false }
        return headers.elements(of: .te).contains { coding in
            let name = coding.prefix { $0 != " " && $0 != "\t" && $0 != ";" }
            return Grammar.equalIgnoringCase(String(name), "trailers")
        }
    }
}
