import NetproxyHTTPMessage

/// Reads the credentials of AWS, and checks that they come from one place.
struct AWSReader {
    let section: Section<AWSKey>
    let allowsInsecure: Bool

    func settings() -> AWSSettings {
        let role = role()
        return AWSSettings(
            source: source(role),
            role: role,
            region: section.value(
                .region,
                expected: "a region such as eu-central-1",
                parse: Self.name
            ),
            service: section.value(
                .service,
                expected: "the signing name of a service, such as s3 or execute-api",
                parse: Self.name
            )
        )
    }

    // MARK: - The source

    private func source(_ role: AWSSettings.Role?) -> AWSSettings.Source? {
        let kinds: [AWSKey] = [.accessKeyID, .exec, .source].filter { section[$0] != nil }
        if kinds.count > 1 {
            section.reading.report(
                "credentials have one source, found \(kinds.map(\.rawValue).joined(separator: ", "))",
                at: section.place(of: kinds[1])
            )
        }
        // Every one is read, so that the errors of all are reported.
        let sources = [keys(), exec(), metadata()]
        let isNamed =
            !kinds.isEmpty || section[.secretAccessKey] != nil || section[.sessionToken] != nil
        if isNamed, let token = role?.webIdentityToken {
            section.reading.report(
                "a web identity takes the role without other credentials; remove these, or "
                    + "web_identity_token (\(token))",
                at: section.place(of: kinds.first ?? .secretAccessKey)
            )
        } else if !isNamed,
            section[.role] == nil || role.map({ $0.webIdentityToken == nil }) == true
        {
            section.require(
                .accessKeyID,
                "access_key_id and secret_access_key, exec or source is required"
            )
        }
        return sources.compactMap { $0 }.first
    }

    private func keys() -> AWSSettings.Source? {
        let isNamed = section[.accessKeyID] != nil
        let id = section.quietValue(
            .accessKeyID,
            expected: "a key id of letters and digits, or a SECRET such as file:/path",
            parse: Self.accessKeyID
        )
        if case .secret(let reference) = id, let node = section[.accessKeyID] {
            section.reading.mention(.secret(reference), at: node)
        }
        let secret = section.secret(.secretAccessKey)
        let token = section.secret(.sessionToken)
        if isNamed, section[.secretAccessKey] == nil {
            section.require(.secretAccessKey, "required with access_key_id")
        }
        for key in [AWSKey.secretAccessKey, .sessionToken] where !isNamed && section[key] != nil {
            section.reading.require("needs access_key_id", at: section.place(of: key))
        }
        guard let id, let secret else { return nil }
        return .keys(
            AWSSettings.Keys(accessKeyID: id, secretAccessKey: secret, sessionToken: token)
        )
    }

    private func exec() -> AWSSettings.Source? {
        guard let node = section[.exec] else { return nil }
        let command = section.list(.exec, of: "a word of a command") { $0 }
        guard command.first?.hasPrefix("/") == true else {
            section.reading.report(
                "expected a list that begins with the absolute path of a program",
                at: section.place(of: .exec)
            )
            return nil
        }
        section.reading.mention(.secret(.exec(command)), at: node)
        return .exec(command)
    }

    private func metadata() -> AWSSettings.Source? {
        guard let node = section[.source] else { return nil }
        switch section.choice(.source, default: AWSSettings.Metadata.container) {
        case .container:
            section.reading.mention(.containerAgent, at: node)
            return .container
        case .instance: return .instance
        }
    }

    // MARK: - The role

    private func role() -> AWSSettings.Role? {
        guard section[.role] != nil else { return nil }
        let role = section.section(.role, AWSRoleKey.self)
        if role[.arn] == nil { role.require(.arn) }
        let arn = role.value(
            .arn,
            expected: "the ARN of a role, such as arn:aws:iam::123456789012:role/reader"
        ) { $0.hasPrefix("arn:") && $0.contains(":role/") && TextRules.isPlain($0) ? $0 : nil }
        let name = role.value(
            .sessionName,
            expected: "2 to 64 letters, digits and _+=,.@-",
            parse: Self.sessionName
        )
        let duration = role.duration(.duration, default: .seconds(3600))
        if !(Duration.seconds(900)...Duration.seconds(43_200)).contains(duration) {
            role.reading.report("expected 15m to 12h", at: role.place(of: .duration))
        }
        let token = role.secret(.webIdentityToken)
        if token != nil, role[.externalID] != nil {
            role.reading.report(
                "does not go with web_identity_token",
                at: role.place(of: .externalID)
            )
        }
        let url = role.endpoint(.url)
        if let exposure = url?.origin.exposure(over: nil), !allowsInsecure {
            role.reading.require(exposure, at: role.place(of: .url))
        }
        return arn.map {
            AWSSettings.Role(
                arn: $0,
                sessionName: name,
                externalID: role.text(.externalID),
                duration: role[.duration] == nil ? nil : duration,
                webIdentityToken: token,
                url: url
            )
        }
    }

    // MARK: - Texts

    private static func accessKeyID(_ text: String) -> AWSSettings.AccessKeyID? {
        if let reference = SecretReference(text: text) { return .secret(reference) }
        let isID =
            (1...128).contains(text.utf8.count)
            && text.utf8.allSatisfy { Grammar.isAlphanumeric($0) || $0 == UInt8(ascii: "_") }
        return isID ? .text(text) : nil
    }

    private static func name(_ text: String) -> String? {
        let isName =
            (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { Grammar.isAlphanumeric($0) || $0 == UInt8(ascii: "-") }
        return isName ? text : nil
    }

    private static func sessionName(_ text: String) -> String? {
        let isName =
            (2...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { Grammar.isAlphanumeric($0) || "_+=,.@-".utf8.contains($0) }
        return isName ? text : nil
    }
}
