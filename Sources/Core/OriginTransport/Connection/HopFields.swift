import NetproxyHTTP1
import NetproxyHTTPMessage

/// The hop-by-hop fields of a request, and the `Connection` field that names them (RFC 9110 §7.6.1).
///
/// The proxy writes these fields itself and never copies them.
enum HopFields {
    private static let written = KnownFieldSet(.upgrade, .te)

    /// Returns the fields for the request's `Upgrade` and `TE`, usually none.
    static func of(_ headers: HTTPHeaders) -> HTTPHeaders {
        guard !headers.knownFields.isDisjoint(with: written) else { return HTTPHeaders() }
        var fields = HTTPHeaders()
        let upgrade = headers[.upgrade]
        switch (upgrade != nil, headers.contains(KnownField.te)) {
        case (true, true): fields.append(.connection, validated: "Upgrade, TE")
        case (true, false): fields.append(.connection, validated: "Upgrade")
        case (false, _): fields.append(.connection, validated: "TE")
        }
        if let upgrade { fields.append(.upgrade, validated: upgrade) }
        // `trailers` is the only member that applies, since chunked is the only supported coding.
        if headers.contains(KnownField.te) { fields.append(.te, validated: "trailers") }
        return fields
    }

    /// Returns the protocol of a 101 response if the request offered it.
    static func agreed(_ answer: HTTPHeaders, offered offer: String?) -> String? {
        let chosen = answer.values(of: .upgrade)
        guard chosen.count == 1, let offer else { return nil }
        let names = offer.split { $0 == "," || $0 == " " || $0 == "\t" }
        return names.contains { Grammar.equalIgnoringCase(String($0), chosen[0]) }
            ? chosen[0] : nil
    }
}
