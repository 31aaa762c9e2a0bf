import HTTPMessage

/// Reads the credential that a channel adds.
struct AuthenticationReader {
    let section: Section<AuthenticationKey>

    func authentication() -> Authentication {
        let kinds = AuthenticationKey.kinds.filter { section[$0] != nil }
        if kinds.count > 1, let second = section[kinds[1]] {
            let names = kinds.map(\.rawValue).joined(separator: ", ")
            section.reading.report(
                "a channel has only one kind of credential, found \(names)",
                at: Place(position: second.keyPosition, key: second.path)
            )
        }
        if kinds.isEmpty, section[.onClientCredential] != nil {
            section.reading.require(
                "has no effect without a credential (bearer, basic, header, exec or oauth)",
                at: section.place(of: .onClientCredential)
            )
        }
        // Every kind is read, so that the errors of all are reported.
        return kinds.map(read).first { $0 != .none } ?? .none
    }

    private func read(_ kind: AuthenticationKey) -> Authentication {
        switch kind {
        case .oauth: oauth()
        case .bearer:
            section.secret(.bearer) { .fieldValue($0, after: "Bearer ") }
                .map(Authentication.bearer) ?? .none
        case .basic: basic()
        case .header: header()
        case .exec: exec()
        case .onClientCredential, .allowInsecure: .none
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
        let name = header.quietValue(
            .name,
            expected: "a header name that netproxy does not write itself"
        ) { text in
            Grammar.isToken(text) && !HeaderRulesReader.isReserved(text) ? text : nil
        }
        if header[.name] == nil { header.require(.name) }
        if header[.value] == nil { header.require(.value) }
        guard let value = header.secret(.value, as: { .fieldValue($0, after: "") }), let name
        else { return .none }
        return .header(name: name, value: value)
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
