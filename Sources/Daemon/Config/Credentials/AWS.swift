import NetproxyHTTPMessage
import NetproxySettings

struct AWSKeys: SectionKeys {
    static let table = KeyTable(Self())
    static let example: String? =
        #"{ access_key_id: AKIDEXAMPLE, secret_access_key: "file:/path" }"#

    let exec = Key("exec", .command)
    let source = Key("source", .choice(AWSSettings.Metadata.self))
    let role = Key("role", AWSRoleKeys.self)
    let region = Key("region", .awsName("a region such as eu-central-1"))
    let service = Key(
        "service",
        .awsName("the signing name of a service, such as s3 or execute-api")
    )
    let accessKeyID = Key("access_key_id", .accessKeyID)
    let secretAccessKey = Key("secret_access_key", .secret)
    let sessionToken = Key("session_token", .secret)
}

struct AWSRoleKeys: SectionKeys {
    static let table = KeyTable(Self())
    static let example: String? = "{ arn: arn:aws:iam::123456789012:role/reader }"

    let arn = Key(
        "arn",
        .text("the ARN of a role, such as arn:aws:iam::123456789012:role/reader") {
            $0.hasPrefix("arn:") && $0.contains(":role/") && TextRules.isPlain($0)
        }
    )
    let duration = Key("duration", .duration(in: .seconds(900) ... .seconds(43_200)))
    let url = Key("url", .url)
    let sessionName = Key(
        "session_name",
        .text("2 to 64 letters, digits and _+=,.@-") { text in
            (2...64).contains(text.utf8.count)
                && text.utf8.allSatisfy {
                    Grammar.isAlphanumeric($0) || "_+=,.@-".utf8.contains($0)
                }
        }
    )
    let externalID = Key("external_id", .text)
    let webIdentityToken = Key("web_identity_token", .secret)
}

extension Form<String> {
    /// The name of a region or a service.
    fileprivate static func awsName(_ expected: String) -> Form {
        .text(expected) { text in
            (1...64).contains(text.utf8.count)
                && text.utf8.allSatisfy {
                    Grammar.isAlphanumeric($0) || $0 == UInt8(ascii: "-")
                }
        }
    }
}

extension Form<AWSSettings.AccessKeyID> {
    /// The ID of a key, as a text or as a secret.
    fileprivate static var accessKeyID: Form {
        let form = quiet(
            "a key id of letters and digits, or a SECRET such as file:/path",
            as: .opaque
        ) { AWSSettings.AccessKeyID(text: $0) }
        return Form(form.shape) { slot in
            let id = form.read(slot)
            if let reference = id?.reference { slot.mention(.secret(reference)) }
            return id
        }
    }
}

/// A signature of each request with AWS credentials.
struct AWSKind: CredentialKind {
    static let key = Key("aws", AWSKeys.self)

    var key: any DeclaredKey { Self.key }

    func read(_ section: Section<CredentialKeys>) -> AWSSettings? {
        let aws = section[Self.key]
        let role = role(in: aws[\.role], section)
        return AWSSettings(
            source: source(in: aws, role),
            role: role,
            region: aws[\.region],
            service: aws[\.service]
        )
    }

    private func source(
        in section: Section<AWSKeys>,
        _ role: AWSSettings.Role?
    ) -> AWSSettings.Source? {
        let kinds = [section.accessKeyID, section.exec, section.source].filter(\.isWritten)
        if kinds.count > 1 {
            let names = kinds.map(\.name).joined(separator: ", ")
            kinds[1].report("credentials have one source, found \(names)")
        }
        // Read every source, to report the errors of all.
        let sources = [
            keys(in: section), section[\.exec].map(AWSSettings.Source.exec), metadata(in: section),
        ]
        let isNamed =
            !kinds.isEmpty || section.secretAccessKey.isWritten || section.sessionToken.isWritten
        if isNamed, let token = role?.webIdentityToken {
            (kinds.first ?? section.secretAccessKey).report(
                "a web identity takes the role without other credentials; remove these, or "
                    + "web_identity_token (\(token))"
            )
        } else if !isNamed,
            !section.role.isWritten || role.map({ $0.webIdentityToken == nil }) == true
        {
            section.accessKeyID.require(
                "access_key_id and secret_access_key, exec or source is required"
            )
        }
        return sources.compactMap { $0 }.first
    }

    private func keys(in section: Section<AWSKeys>) -> AWSSettings.Source? {
        let (id, secret) = (section[\.accessKeyID], section[\.secretAccessKey])
        let token = section[\.sessionToken]
        if section.accessKeyID.isWritten {
            section.secretAccessKey.requireWritten("required with access_key_id")
        } else {
            for slot in [section.secretAccessKey, section.sessionToken] where slot.isWritten {
                slot.reading.require("needs access_key_id", at: slot.place)
            }
        }
        guard let id, let secret else { return nil }
        return .keys(
            AWSSettings.Keys(accessKeyID: id, secretAccessKey: secret, sessionToken: token)
        )
    }

    private func metadata(in section: Section<AWSKeys>) -> AWSSettings.Source? {
        switch section[\.source] {
        case .container:
            section.source.mention(.containerAgent)
            return .container
        case .instance: return .instance
        case nil: return nil
        }
    }

    private func role(
        in role: Section<AWSRoleKeys>,
        _ credential: Section<CredentialKeys>
    ) -> AWSSettings.Role? {
        guard credential[Self.key].role.isWritten else { return nil }
        role.arn.requireWritten()
        let (token, url) = (role[\.webIdentityToken], role[\.url])
        if token != nil { role.externalID.refuse("does not go with web_identity_token") }
        role.url.checkExposure(of: url, over: nil, unless: credential.allowInsecure)
        let (name, externalID) = (role[\.sessionName], role[\.externalID])
        let duration = role[\.duration]
        return role[\.arn].map {
            AWSSettings.Role(
                arn: $0,
                sessionName: name,
                externalID: externalID,
                duration: duration,
                webIdentityToken: token,
                url: url
            )
        }
    }

    func place(_: AWSSettings, by placement: PlacementReader) -> CredentialPlacement? {
        for slot in placement.section.places {
            slot.refuse("does not go with aws, whose signature stands in Authorization")
        }
        return .header(name: "Authorization", prefix: nil)
    }

    func check(_ settings: AWSSettings, in use: CredentialUse) {
        if use.host == .app {
            use.hostSlot.report(
                "auth.aws signs the Host that is sent, which cannot be the app's: use upstream or a name"
            )
        }
        if use.upstreams.count > 1 {
            use.upstream.report(
                "a signature names the host, so a channel with auth.aws has one upstream"
            )
        } else if let upstream = use.upstreams.first {
            checkScope(of: settings, in: use, at: upstream.origin)
        }
        if use.refusals == .byStatus {
            use.refusalStatus.report(
                "auth.aws knows the refusals of AWS; a further status needs a body that identifies the refusal"
            )
        }
    }

    private func checkScope(of settings: AWSSettings, in use: CredentialUse, at origin: Origin) {
        let scope = settings.scope(for: origin)
        let aws = use.section[Self.key]
        let missing = [
            (aws.region, scope.region, "region"), (aws.service, scope.service, "service"),
        ]
        for case (let slot, nil, let noun) in missing {
            let reason = "the host \(origin.host) names no \(noun) of AWS"
            if let identity = use.credential.identity {
                use.auth.reading.require(
                    "identities.\(identity).aws.\(slot.name) is required: \(reason)",
                    at: use.auth.place
                )
            } else if slot.isMissing {
                slot.require("required: \(reason)")
            }
        }
    }
}

extension AWSSettings: CredentialSettings {
    package var label: String { "auth.aws (\(origin))" }
    package var knowsRefusals: Bool { true }

    /// The source of the credentials, without the credentials themselves.
    fileprivate var origin: String {
        let base: String? =
            switch source {
            case .keys(let keys): "keys, \(keys.secretAccessKey)"
            case .exec(let command): "exec \(command.first ?? "")"
            case .container: "source container"
            case .instance: "source instance"
            case nil: nil
            }
        guard let role else { return base ?? "nothing" }
        return "role \(role.arn) with \(base ?? "web_identity_token")"
    }
}
