import NetproxyHTTPMessage

/// The header fields that a channel adds, replaces and removes.
struct HeadersKeys: SectionKeys {
    static let table = KeyTable(Self())

    let `default` = Key("default", .headers(HeaderFields.field), default: [:])
    let set = Key("set", .headers(HeaderFields.field), default: [:])
    let secret = Key(
        "secret",
        .headers(of: .secret) { name, value in
            Form<SecretReference>.secret { .fieldValue($0, after: "") }.read(value).map {
                HeaderSecret(name: name, value: $0)
            }
        },
        default: [:]
    )
    let remove = Key("remove", .list(.removedField), default: [])
    let via = Key("via", .choice(HeaderRules.Via.self), default: "auto")
}

extension Form<String> {
    fileprivate static var removedField: Form {
        Form(.text) { slot in
            guard let name = Form.fieldName.read(slot) else { return nil }
            return HeaderFields.allows(name, at: slot.place, in: slot.reading) ? name : nil
        }
    }
}

extension HeaderRules {
    init(_ section: Section<HeadersKeys>) {
        let ruled = [section.default, section.set].flatMap { $0.node?.entries ?? [] }
            .filter { !$0.value.isNull }
        for entry in ruled { Self.refuseSecret(in: entry, section.reading) }
        let taken = Set(ruled.map { $0.key.lowercased() })
        let secrets = section[\.secret].filter { !taken.contains($0.name.lowercased()) }
        for entry in section.secret.node?.entries ?? []
        where !entry.value.isNull && taken.contains(entry.key.lowercased()) {
            section.reading.report("the same header is under default or set", at: entry.value)
        }
        self.init(
            defaults: section[\.default],
            set: section[\.set],
            secrets: secrets,
            remove: section[\.remove],
            via: section[\.via]
        )
    }

    /// Reports a reference to a secret, which would be sent literally.
    private static func refuseSecret(in entry: ConfigNode.Entry, _ reading: Reading) {
        switch entry.value.text.flatMap(SecretReference.init(text:)) {
        case .file, .exec:
            reading.report("a secret is not read here, use headers.secret", at: entry.value)
        default: break
        }
    }
}
