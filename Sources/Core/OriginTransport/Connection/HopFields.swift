import NetproxyHTTP1
import NetproxyHTTPMessage

/// The hop-by-hop fields of a request, with the `Connection` field that names them
/// (RFC 9110 §7.6.1): always written by us, never copied.
enum HopFields {
    private static let written = KnownFieldSet(.upgrade, .te)

    /// Returns the fields for the request's `Upgrade` and `TE`; almost always empty.
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
        // The only member that applies: chunked is the only coding supported.
        if headers.contains(KnownField.te) { fields.append(.te, validated: "trailers") }
        return fields
    }

    /// The protocol that a 101 switches to, if the request offered it.
    static func agreed(_ answer: HTTPHeaders, offered offer: String?) -> String? {
        let chosen = answer.values(of: .upgrade)
        guard chosen.count == 1, let offer else { return nil }
        let names = offer.split { $0 == "," || $0 == " " || $0 == "\t" }
        return names.contains { Grammar.equalIgnoringCase(String($0), chosen[0]) }
            ? chosen[0] : nil
    }
}
