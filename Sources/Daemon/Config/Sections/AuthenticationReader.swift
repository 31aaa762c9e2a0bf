import NetproxyHTTPMessage

/// Reads the credential of a channel or of an identity.
struct AuthenticationReader {
    let section: Section<AuthenticationKey>

    /// The one kind of credential that the section has.
    func authentication() -> Authentication {
        let kinds = AuthenticationKey.kinds.filter { section[$0] != nil }
        if kinds.count > 1, let second = section[kinds[1]] {
            let names = kinds.map(\.rawValue).joined(separator: ", ")
            section.reading.report(
                "expected only one kind of credential, found \(names)",
                at: Place(position: second.keyPosition, key: second.path)
            )
        }
        let details = [AuthenticationKey.onClientCredential] + AuthenticationKey.places
        let lacksKind = AuthenticationKey.kinds.allSatisfy(section.lacks)
        for key in details where lacksKind && section[key] != nil {
            section.reading.require(
                "has no effect without a credential (bearer, basic, header, exec, aws, jwt, hmac, oauth or identity)",
                at: section.place(of: key)
            )
        }
        // Every kind is read, so that the errors of all are reported.
        return kinds.map(read).first { $0 != .none } ?? .none
    }

    private func read(_ kind: AuthenticationKey) -> Authentication {
        switch kind {
        case .oauth: oauth()
        case .bearer:
            section.secret(.bearer, as: mention(after: "Bearer ")).map(Authentication.bearer)
                ?? .none
        case .basic: basic()
        case .header: header()
        case .exec: exec()
        case .aws:
            .aws(
                AWSReader(
                    section: section.section(.aws, AWSKey.self),
                    allowsInsecure: section[.allowInsecure]?.text == "true"
                ).settings()
            )
        case .jwt:
            JWTReader(section: section.section(.jwt, JWTKey.self)).settings()
                .map(Authentication.jwt) ?? .none
        case .hmac:
            HMACReader(section: section.section(.hmac, HMACKey.self)).settings()
                .map(Authentication.hmac) ?? .none
        case .identity, .scopes, .audience, .resource, .onClientCredential, .allowInsecure,
            .location, .name, .prefix:
            .none
        }
    }

    private func oauth() -> Authentication {
        let reader = OAuthReader(
            section: section.section(.oauth, OAuthKey.self),
            allowsInsecure: section[.allowInsecure]?.text == "true"
        )
        return reader.settings().map(Authentication.oauth) ?? .none
    }

    private func basic() -> Authentication {
        let basic = section.section(.basic, BasicKey.self)
        let username = basic.username(.username)
        if basic[.username] == nil { basic.require(.username) }
        if basic[.password] == nil { basic.require(.password) }
        guard let password = basic.secret(.password), let username else { return .none }
        return .basic(username: username, password: password)
    }

    private func header() -> Authentication {
        let header = section.section(.header, HeaderCredentialKey.self)
        let name = header.quietValue(.name, expected: Self.ownName, parse: fieldName)
        if header[.name] == nil { header.require(.name) }
        if header[.value] == nil { header.require(.value) }
        guard let value = header.secret(.value, as: { .fieldValue($0, after: "") }), let name
        else { return .none }
        return .header(name: name, value: value)
    }

    // MARK: - Where it goes

    /// Whether the section says where the credential goes.
    var hasPlace: Bool { AuthenticationKey.places.contains { section[$0] != nil } }

    private var location: CredentialPlacement.Location {
        section.choice(.location, default: .header)
    }

    /// Where a credential goes; nil without one.
    func placement(of credential: Authentication) -> CredentialPlacement? {
        switch credential {
        case .none: return nil
        case .header(let name, _):
            for key in AuthenticationKey.places {
                guard section[key] != nil, key != .location || location != .header else { continue }
                section.reading.report(
                    "does not go with header, which has its own name and value; use bearer instead",
                    at: section.place(of: key)
                )
            }
            return .header(name: name, prefix: nil)
        case .aws:
            for key in AuthenticationKey.places where section[key] != nil {
                section.reading.report(
                    "does not go with aws, whose signature stands in Authorization",
                    at: section.place(of: key)
                )
            }
            return .header(name: "Authorization", prefix: nil)
        case .basic where location != .header:
            section.reading.report(
                "basic goes into a header field; use bearer for a secret elsewhere",
                at: section.place(of: .location)
            )
            return nil
        case .hmac where location == .path:
            section.reading.report(
                "a signature does not go into the path that it signs; use header or query",
                at: section.place(of: .location)
            )
            return nil
        case .basic, .bearer, .oauth, .exec, .jwt, .hmac: break
        }
        let placement = placement()
        if case .oauth(let settings) = credential, settings.proofKey != nil,
            placement != .header(name: "Authorization", prefix: nil)
        {
            let key = AuthenticationKey.places.first { section[$0] != nil } ?? .location
            section.reading.report(
                "a token bound to dpop_key goes into Authorization (RFC 9449); remove this, or dpop_key",
                at: section.place(of: key)
            )
        }
        return placement
    }

    private func placement() -> CredentialPlacement? {
        switch location {
        case .header: return field()
        case .query:
            if section[.name] == nil {
                section.require(.name, "required with in: query, such as name: key")
            }
            return section.text(.name).map { .query(name: $0, prefix: prefix() ?? "") }
        case .path:
            if section[.name] != nil {
                section.reading.report(
                    "a place in the path has no name; it is where the upstream's URL says "
                        + CredentialPlacement.marker,
                    at: section.place(of: .name)
                )
            }
            return .path(prefix: prefix() ?? "")
        }
    }

    private func field() -> CredentialPlacement? {
        let name =
            section[.name] == nil
            ? "Authorization" : section.quietValue(.name, expected: Self.ownName, parse: fieldName)
        let prefix = prefix()
        guard let name else { return nil }
        if HTTPFieldName(name) == .cookie, prefix.map(Self.isCookieName) != true {
            section.reading.report(
                "a cookie needs its name in front, such as prefix: 'session='",
                at: section.place(of: section[.prefix] == nil ? .name : .prefix)
            )
        }
        return .header(name: name, prefix: prefix)
    }

    private static let ownName = "a header name that netproxy does not write itself"

    private func fieldName(_ text: String) -> String? {
        Grammar.isToken(text) && !HeaderRulesReader.isReserved(text) ? text : nil
    }

    private static func isCookieName(_ prefix: String) -> Bool {
        guard let equals = prefix.firstIndex(of: "=") else { return false }
        return Grammar.isToken(String(prefix[..<equals]))
    }

    /// What stands in front of the secret; blanks at its end count.
    private func prefix() -> String? {
        if section.isOff(.prefix) { return "" }
        let expected = "a text without control characters or leading spaces"
        return section.quietValue(.prefix, expected: expected) { text in
            Grammar.isFieldValue("\(text)x") ? text : nil
        }
    }

    /// How a secret is checked that goes into a field after this text, unless the place has its own.
    private func mention(
        after usual: String
    ) -> (SecretReference) -> Mention.Resource {
        guard location == .header else { return Mention.Resource.secret }
        let prefix = section[.prefix]?.text ?? usual
        return { .fieldValue($0, after: prefix) }
    }

    private func exec() -> Authentication {
        let command = section.list(.exec, of: "a word of a command") { $0 }
        guard command.first?.hasPrefix("/") == true else {
            section.reading.report(
                "expected a list that begins with the absolute path of a program",
                at: section.place(of: .exec)
            )
            return .none
        }
        if let node = section[.exec] { section.reading.mention(.secret(.exec(command)), at: node) }
        return .exec(command)
    }
}
