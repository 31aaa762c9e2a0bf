/// The requests that a channel handles; path and hosts have defaults with the channel's name.
struct MatchKeys: SectionKeys {
    static let table = KeyTable(Self())
    static let example: String? = "{ path: /orders }"

    /// The path prefix, read by ``ChannelConfiguration/Match`` because the error names the channel.
    let path = Key("path", .unread(.text))
    let hosts = Key(
        "hosts",
        .list(
            .scalar("a host name, or *.suffix for the names below it") { text in
                text != "*" && HostText.isPattern(text) ? text.lowercased() : nil
            }
        )
    )
    let listen = Key("listen", .listenAddress)
    let strip = Key("strip", .flag, default: true)
}

extension ChannelConfiguration.Match {
    init(_ match: Section<MatchKeys>, channel: String) {
        let path = Form<String>.scalar("a path such as /\(channel)", parse: Self.prefix)
        self.init(
            path: path.read(match.path) ?? "/\(channel)",
            hosts: match[\.hosts] ?? ["\(channel).localhost"],
            listen: match[\.listen],
            strip: match[\.strip] ? .remove : .keep
        )
    }

    /// Returns the path prefix without a trailing slash, or nil unless it is an absolute path without a
    /// query.
    @Sendable private static func prefix(_ text: String) -> String? {
        guard text.hasPrefix("/"), !text.contains("//"),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            !text.contains(where: { $0 == "?" || $0 == "#" }),
            !text.split(separator: "/").contains(where: URLText.isDotSegment)
        else { return nil }
        return text.count > 1 && text.hasSuffix("/") ? String(text.dropLast()) : text
    }
}

/// The clients that may use a channel, and the requests that they may send.
struct AccessKeys: SectionKeys {
    static let table = KeyTable(Self())
    static let example: String? = "{ methods: [GET] }"

    let hosts = Key(
        "hosts",
        .list(
            .scalar("a host name, *.suffix or *") { text in
                HostText.isPattern(text) ? text.lowercased() : nil
            }
        ),
        default: []
    )
    let origins = Key(
        "origins",
        .list(
            .scalar(
                "an origin such as https://app.example.com, or none",
                parse: { HostText.webOrigin($0) }
            )
        ),
        default: []
    )
    let users = Key("users", .list(.userID), default: [])
    let key = Key("key", .secret)
    let methods = Key("methods", .list(.method), default: [])
    let paths = Key("paths", .list(.pathPattern), default: [])
}

extension ChannelConfiguration.Access {
    init(_ access: Section<AccessKeys>) {
        self.init(
            hosts: access[\.hosts],
            origins: access[\.origins],
            users: access[\.users],
            key: access[\.key],
            methods: access[\.methods],
            paths: access[\.paths]
        )
    }
}
