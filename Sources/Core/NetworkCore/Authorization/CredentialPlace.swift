/// The place of a credential in a request, with an optional prefix.
///
/// By default, an authorizer's credential goes into a header field. A place moves the same credential to
/// another
/// field, to the query or to the path, if the API expects it there.
public struct CredentialPlace: Sendable, Hashable {
    package enum Location: Sendable, Hashable {
        case header(HTTPFieldName)
        case query(QueryParameter)
        /// In this base path; `nil` selects the first marker in the path.
        case path(PathTemplate?)
    }

    package let location: Location
    /// The text before the secret; `nil` selects the authentication scheme of the credential.
    package let prefix: String?

    package init(_ location: Location, prefix: String?) {
        self.location = location
        self.prefix = prefix
    }

    /// Returns a place in a field.
    ///
    /// - Parameters:
    ///   - name: the field's name.
    ///   - prefix: the text before the secret, such as `Token ` with its space; `nil` selects the scheme of
    ///     the
    ///     credential, such as `Bearer `.
    /// - Returns: the place.
    public static func header(_ name: HTTPFieldName, prefix: String? = nil) -> CredentialPlace {
        CredentialPlace(.header(name), prefix: prefix)
    }

    /// Returns a place in the query, after the request's own parameters; the value is percent-encoded.
    ///
    /// - Parameters:
    ///   - name: the parameter's name.
    ///   - prefix: the text before the secret.
    /// - Returns: the place.
    public static func query(_ name: String, prefix: String = "") -> CredentialPlace {
        CredentialPlace(.query(QueryParameter(name)), prefix: prefix)
    }

    /// Returns a place in the path, at `{credential}` in the base URL; the value is percent-encoded as a
    /// segment.
    ///
    /// - Parameter prefix: the text before the secret.
    /// - Returns: the place.
    public static func path(prefix: String = "") -> CredentialPlace {
        CredentialPlace(.path(nil), prefix: prefix)
    }

    /// Returns the place in a base path that contains the marker.
    package static func path(in template: PathTemplate, prefix: String) -> CredentialPlace {
        CredentialPlace(.path(template), prefix: prefix)
    }

    /// The field's name, if the place is in a field.
    package var fieldName: HTTPFieldName? {
        if case .header(let name) = location { name } else { nil }
    }

    /// The parameter, if the place is in the query.
    package var parameter: QueryParameter? {
        if case .query(let parameter) = location { parameter } else { nil }
    }

    /// The name of the cookie, if the credential is one cookie in a `Cookie` field.
    private var cookieName: Substring? {
        guard fieldName == .cookie, let prefix, let equals = prefix.firstIndex(of: "=") else {
            return nil
        }
        return prefix[..<equals]
    }
}

extension CredentialPlace {
    /// Whether a request has a value in this place, or in a field that servers may confuse with it.
    package func isOccupied(in request: Request) -> Bool {
        if SubprotocolCredential.isPresent(in: request.headers) { return true }
        switch location {
        case .header(let name):
            if let cookieName {
                return request.headers.values(of: name).contains {
                    CredentialPlace.pairs(of: $0).contains {
                        CredentialPlace.isCookie($0, named: cookieName)
                    }
                }
            }
            return request.headers.contains(like: name)
        case .query(let parameter):
            // netproxy writes the marker into links.
            return parameter.values(in: request.target).contains {
                !$0.hasSuffix(PathTemplate.marker)
            }
        case .path(let template):
            guard let match = template?.match(request.target) else { return false }
            return !match.isPlaceholder
        }
    }

    /// Replaces the value of a request in this place by a credential.
    ///
    /// - Throws: `http_request_error` if the path has no place for the credential; `credential_unavailable`
    ///   if the
    ///   credential is bound to a key and the place is not `Authorization` (RFC 9449 §7.1).
    package func put(_ credential: Credential, in request: inout Request) throws(NetworkError) {
        guard !credential.isBound || self == .header(.authorization) else {
            throw NetworkError(
                .credentialUnavailable,
                side: .proxy,
                retry: .safe,
                detail: "a token that is bound to a key goes into Authorization, and nowhere else"
            )
        }
        SubprotocolCredential.remove(from: &request.headers)
        switch location {
        case .header(let name): put(credential, as: name, in: &request.headers)
        case .query(let parameter):
            // `OPTIONS *` has no query.
            guard request.target != "*" else { return }
            let target = parameter.removed(from: request.target)
            request.target = parameter.appended(value(of: credential), to: target)
        case .path(let template):
            let value = encodedInPath(credential)
            if let template, let match = template.match(request.target) {
                request.target = template.filled(with: value) + match.rest
            } else if template == nil, let whole = PathTemplate(TargetPath(request.target)) {
                request.target = whole.filled(with: value)
            } else {
                throw .unsendable(
                    "the path has no place for the credential: write "
                        + "\(PathTemplate.marker) in the base URL's path"
                )
            }
        }
    }

    /// Puts a credential into a field, and removes the fields that it replaces or that servers may confuse
    /// with it.
    func put(
        _ credential: Credential,
        as name: HTTPFieldName,
        in headers: inout HTTPHeaders
    ) {
        var others: [Substring] = []
        if let cookieName {
            others = headers.values(of: name).flatMap(CredentialPlace.pairs)
                .filter { !CredentialPlace.isCookie($0, named: cookieName) }
        }
        headers.removeAll(like: name)
        if prefix == nil, credential.name == name { return headers.attach(credential.field) }
        let value = value(of: credential)
        headers.append(name, validated: (others + [value[...]]).joined(separator: "; "))
    }

    /// Returns the secret with its prefix, not encoded.
    package func value(of credential: Credential) -> String {
        guard let prefix else { return credential.value.reveal() }
        return prefix + credential.bare.reveal()
    }

    /// Returns the value, percent-encoded as a path segment.
    package func encodedInPath(_ credential: Credential) -> String {
        PercentEncoding.segment(value(of: credential))
    }

    /// Returns the pairs of a `Cookie` field (RFC 6265 §4.2.1).
    private static func pairs(of cookies: String) -> [Substring] {
        cookies.split(separator: ";").map { $0.drop { $0 == " " || $0 == "\t" } }
    }

    private static func isCookie(_ pair: Substring, named name: Substring) -> Bool {
        let own = pair.prefix { $0 != "=" }
        return own.prefix { $0 != " " && $0 != "\t" } == name
    }
}
