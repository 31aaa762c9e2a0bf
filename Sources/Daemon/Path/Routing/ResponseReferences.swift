import NetproxyConfig
import NetproxyHTTPMessage
import NetworkCore

/// Edits the references in the fields of a response before the client sees them.
///
/// The upstream's own links and cookies are translated into the client's names if the channel is
/// configured so. A credential in the query or the path returns in such fields, without its value: an earlier
/// step has replaced it by a marker. A link loses the whole parameter.
struct ResponseReferences {
    /// The known fields with references, for a lookup by bits; a challenge may refer to metadata.
    private static let known = KnownFieldSet(
        .location,
        .contentLocation,
        .link,
        .setCookie,
        .wwwAuthenticate
    )
    /// The lengths of the other field names, as bits.
    private static let lengths = LeadsAway.Field.allCases.map(\.name)
        .filter { $0.known == nil }
        .reduce(UInt64(0)) { $0 | 1 << UInt64($1.text.utf8.count) }

    /// Whether a field section may contain a reference.
    static func mayBe(in headers: HTTPHeaders) -> Bool {
        !headers.knownFields.isDisjoint(with: known)
            || headers.hasOther(ofLengths: lengths)
                && LeadsAway.Field.allCases.contains { headers.contains($0.name) }
    }

    let view: DownstreamView
    let rewritten: Set<RewrittenPart>
    /// The path to which cookies are confined; `nil` if the channel's host separates them from others.
    var cookieScope: String?
    /// Hides the credential in the request; `nil` if responses cannot repeat it.
    var reflection: CredentialReflection?

    /// Edits the field section of a response, and returns the references that lead past netproxy.
    func edit(_ headers: inout HTTPHeaders) -> LeadsAway {
        var leads = LeadsAway()
        for field in LeadsAway.Field.allCases where headers.contains(field.name) {
            edit(field, in: &headers, &leads)
        }
        return leads
    }

    private func edit(
        _ field: LeadsAway.Field,
        in headers: inout HTTPHeaders,
        _ leads: inout LeadsAway
    ) {
        let values = headers.values(of: field.name)
        let edited = values.map { value in
            switch field {
            case .cookie: cookie(value, &leads)
            case .refresh: refresh(value, &leads)
            case .link: links(value, &leads)
            default: reference(value[...], field, &leads)
            }
        }
        guard edited != values else { return }
        headers.remove(field.name)
        for value in edited { headers.append(field.name, validated: value) }
    }

    private func reference(
        _ reference: Substring,
        _ field: LeadsAway.Field,
        _ leads: inout LeadsAway
    ) -> String {
        var result = String(reference)
        switch view.lead(reference) {
        case .here: break
        case .elsewhere: leads.insert(field, .elsewhere)
        case .upstream(let translated):
            if rewritten.contains(.links) {
                result = translated
            } else {
                leads.insert(field, .upstream)
            }
        }
        return reflection?.hidden(in: result) ?? result
    }

    /// Edits the targets of links, which are enclosed in angle brackets (RFC 8288 §3).
    private func links(_ value: String, _ leads: inout LeadsAway) -> String {
        var (text, isQuoted) = ("", false)
        var rest = value[...]
        while let character = rest.popFirst() {
            text.append(character)
            switch character {
            case "\"": isQuoted.toggle()
            case "\\" where isQuoted: if let next = rest.popFirst() { text.append(next) }
            case "<" where !isQuoted:
                let target = rest.prefix { $0 != ">" }
                text += reference(target, .link, &leads)
                rest = rest[target.endIndex...]
            default: break
            }
        }
        return text
    }

    /// Edits the target of `5; url=…`, parsed as browsers do.
    private func refresh(_ value: String, _ leads: inout LeadsAway) -> String {
        let bytes = value.utf8.map(Grammar.lowercased)
        guard let mark = bytes.firstRange(of: Array("url=".utf8)) else { return value }
        let start = value.utf8.index(value.startIndex, offsetBy: mark.upperBound)
        let quotes = value[start...].prefix { $0 == "'" || $0 == "\"" }
        let target = value[quotes.endIndex...].prefix { $0 != "'" && $0 != "\"" }
        return value[..<target.startIndex] + reference(target, .refresh, &leads)
            + value[target.endIndex...]
    }

    /// Translates a cookie to the host, scheme and path of the client (RFC 6265 §5.2), and confines it to the
    /// channel's prefix.
    private func cookie(_ value: String, _ leads: inout LeadsAway) -> String {
        confined(rewritten.contains(.cookies) ? translated(value) : unchanged(value, &leads))
    }

    private func unchanged(_ value: String, _ leads: inout LeadsAway) -> String {
        if ResponseReferences.attributes(of: value).contains(where: isLost) {
            leads.insert(.cookie, .upstream)
        }
        return value
    }

    private func translated(_ value: String) -> String {
        // The prefixes of these names require attributes (RFC 6265bis §4.1.3); without them a client drops
        // the cookie.
        let name = value.drop { $0 == " " }.lowercased()
        if name.hasPrefix("__host-") { return value }
        let keepsSecure = name.hasPrefix("__secure-")
        let changed = ResponseReferences.attributes(of: value).compactMap { part in
            keepsSecure && ResponseReferences.attributeName(part) == "secure"
                ? String(part) : attribute(part)
        }
        return ([String(value.prefix { $0 != ";" })] + changed).joined(separator: ";")
    }

    /// Returns the cookie with a path within `cookieScope`.
    ///
    /// Channels that are reached by path share a host, by which clients separate cookies.
    private func confined(_ value: String) -> String {
        guard let cookieScope else { return value }
        var isWithin = DownstreamView.path(cookieScope[...], encloses: view.directory)
        let parts = ResponseReferences.attributes(of: value).map { part -> String in
            guard ResponseReferences.attributeName(part) == "path" else { return String(part) }
            // The last path counts, and one that does not begin with a slash means the directory of the request.
            let path = ResponseReferences.attributeValue(part)
            isWithin = DownstreamView.path(cookieScope[...], encloses: String(path))
            if isWithin { return String(part) }
            isWithin = true
            return " Path=\(cookieScope)"
        }
        let scope = isWithin ? [] : [" Path=\(cookieScope)"]
        return ([String(value.prefix { $0 != ";" })] + parts + scope).joined(separator: ";")
    }

    /// Whether an attribute keeps a client from sending the cookie back to netproxy.
    private func isLost(_ part: Substring) -> Bool {
        let value = ResponseReferences.attributeValue(part)
        switch ResponseReferences.attributeName(part) {
        case "domain": return !value.isEmpty && !view.isWithin(domain: value)
        case "secure": return true
        case "path":
            return cookieScope == nil && value.hasPrefix("/")
                && !DownstreamView.path(value, encloses: view.root)
        default: return false
        }
    }

    /// Translates an attribute of a cookie for the client; `nil` if the client would reject the attribute.
    private func attribute(_ part: Substring) -> String? {
        let value = ResponseReferences.attributeValue(part)
        switch ResponseReferences.attributeName(part) {
        case "domain": return view.isWithin(domain: value) ? String(part) : nil
        // Clients speak plain HTTP to netproxy, and the other attributes require `Secure`.
        case "secure", "partitioned": return nil
        case "samesite" where value.lowercased() == "none": return nil
        case "path":
            guard value.hasPrefix("/") else { return String(part) }
            if let path = view.translated(value) { return " Path=\(path)" }
            return DownstreamView.path(value, encloses: view.upstreamRoot)
                ? " Path=\(view.root)" : String(part)
        default: return String(part)
        }
    }
}

extension ResponseReferences {
    private static func attributeValue(_ part: Substring) -> Substring {
        let value = part.drop { $0 != "=" }.dropFirst().drop { $0 == " " || $0 == "\t" }
        guard let end = value.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return "" }
        return value[...end]
    }

    private static func attributes(of cookie: String) -> some Sequence<Substring> {
        cookie.split(separator: ";", omittingEmptySubsequences: false).dropFirst()
    }

    private static func attributeName(_ part: Substring) -> String {
        part.prefix { $0 != "=" }.filter { $0 != " " && $0 != "\t" }.lowercased()
    }
}

/// Finds the credential of a request in the response.
struct CredentialReflection {
    private let place: CredentialPlace
    private let credential: Credential
    private let names: UpstreamNames

    /// Creates `nil` for a credential in a field, which no URL repeats, and for one that only signs.
    init?(of credential: Credential?, in place: CredentialPlace?, _ names: UpstreamNames) {
        guard let credential, credential.signing == nil, let place, place.fieldName == nil else {
            return nil
        }
        (self.place, self.credential, self.names) = (place, credential, names)
    }

    /// Returns a reference without the credential, which netproxy adds again to the client's next request.
    func hidden(in reference: String) -> String {
        if let parameter = place.parameter {
            let isShown = parameter.values(in: reference).contains {
                $0 == place.value(of: credential) || $0.hasSuffix(PathTemplate.marker)
            }
            return isShown ? parameter.removed(from: reference) : reference
        }
        let start = CredentialReflection.pathStart(in: reference)
        let encoded = place.encodedInPath(credential)
        let path = names.all.lazy.compactMap { $0.hidden(encoded, in: reference[start...]) }.first
        return path.map { reference[..<start] + $0 } ?? reference
    }

    private static func pathStart(in reference: String) -> String.Index {
        guard let slashes = reference.firstRange(of: "//") else { return reference.startIndex }
        return reference[slashes.upperBound...].firstIndex(of: "/") ?? reference.endIndex
    }
}

/// The response fields whose references lead past netproxy, without their values.
struct LeadsAway: Equatable {
    enum Field: UInt32, CaseIterable {
        case location, contentLocation, link, refresh, cookie
        /// The URL at which a Google upload continues.
        case uploadURL, uploadControlURL
        /// The URL with the progress of an Azure operation.
        case operationLocation, asyncOperation
        /// The URL of an entity created by an OData request (OData 4.01 §8.3.4).
        case entityID

        var name: HTTPFieldName {
            switch self {
            case .location: .location
            case .contentLocation: .contentLocation
            case .link: .link
            case .refresh: "Refresh"
            case .cookie: .setCookie
            case .uploadURL: "X-Goog-Upload-URL"
            case .uploadControlURL: "X-Goog-Upload-Control-URL"
            case .operationLocation: "Operation-Location"
            case .asyncOperation: "Azure-AsyncOperation"
            case .entityID: "OData-EntityId"
            }
        }
    }

    enum Kind: UInt32 {
        case upstream, elsewhere
    }

    private var bits: UInt32 = 0

    mutating func insert(_ field: Field, _ kind: Kind) {
        bits |= 1 << (field.rawValue * 2 + kind.rawValue)
    }

    /// Returns the fields that lead to one kind of destination.
    func fields(leadingTo kind: Kind) -> [Field] {
        Field.allCases.filter { bits & 1 << ($0.rawValue * 2 + kind.rawValue) != 0 }
    }
}
