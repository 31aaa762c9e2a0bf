/// The keys of the main file.
struct RootKeys: SectionKeys {
    static let table = KeyTable(Self())

    let listen = Key("listen", .list(.listenAddress), default: ["127.0.0.1:8080"])
    /// The admin addresses, whose default depends on the directories.
    let admin = Key("admin", .list(.adminAddress))
    let state = Key("state", .either(.absolutePath, or: StateKeys.self))
    let workers = Key("workers", .workers, default: "auto")
    let drain = Key("drain", .duration(atLeast: .zero), default: "30s")
    let limits = Key("limits", LimitsKeys.self)
    let unmatched = Key("unmatched", .choice(ProxyConfiguration.Unmatched.self), default: "deny")
    let connect = Key("connect", .list(.connectPattern), default: [])
    let log = Key("log", LogKeys.self)
    /// The included files, read by ``Inclusion``.
    let include = Key("include", .unread(.list(.text)))
    /// The defaults, merged into each channel.
    let defaults = Key("defaults", ChannelKeys.self)
    let channels = Key(
        "channels",
        .records("a map of channels", of: ChannelKeys.self),
        default: [:]
    )
    let identities = Key(
        "identities",
        .records("a map of identities", of: IdentityKeys.self),
        default: [:]
    )
    let allowRemote = Key("allow_remote", .flag, default: false)
    let busyPoll = Key("busy_poll", .choice(ProxyConfiguration.BusyPoll.self), default: "auto")
    let stateKey = Key("state_key", .list(.secret { .stateKey($0) }), default: [])

    static func objection(to key: String) -> String? {
        home(of: key).map { "\(key) belongs to a channel, as in \($0): { name: { \(key): … } }" }
    }

    static func home(of key: String) -> String? {
        ChannelKeys.table.names.contains(key) ? "channels" : nil
    }
}

/// The keys of an included file.
struct IncludedKeys: SectionKeys {
    static let table = KeyTable(Self())
    static let example: String? = "{ channels: … }"

    let channels = Key("channels", .unread(.records(ChannelKeys.self)))
    let defaults = Key("defaults", .unread(.map(ChannelKeys.self)))
    let identities = Key("identities", .unread(.records(IdentityKeys.self)))

    static func objection(to key: String) -> String? {
        guard RootKeys.table.names.contains(key) else { return nil }
        return "only the main file may have \(key); an included file has channels, identities and "
            + "defaults"
    }
}

extension Form<ListenAddress> {
    static var listenAddress: Form {
        .scalar("host:port, unix:/path or systemd:NAME", bound: ListenAddress.bound(of:)) {
            ListenAddress(text: $0)
        }
    }
}

extension Form<AdminAddress> {
    fileprivate static var adminAddress: Form {
        .scalar("unix:/path, a loopback host:port or off", bound: ListenAddress.bound(of:)) {
            switch ListenAddress(text: $0) {
            case .unix(let path): .unix(path)
            case .tcp(let address) where address.isLoopback && address.isBindable: .tcp(address)
            default: nil
            }
        }
    }
}

extension Form<ProxyConfiguration.Workers> {
    fileprivate static var workers: Form {
        let counts = 1...64
        return .scalar(
            "auto or a whole number from 1 to 64",
            as: .either([.choice(["auto"]), .number(counts)])
        ) { text in
            if text == "auto" { return .auto }
            return WholeNumber.parse(text).flatMap { counts.contains($0) ? .count($0) : nil }
        }
    }
}

extension Form<ProxyConfiguration.ConnectPattern> {
    fileprivate static var connectPattern: Form {
        .scalar("host:port") { ProxyConfiguration.ConnectPattern(text: $0) }
    }
}

extension ProxyConfiguration.ConnectPattern {
    init?(text: String) {
        if let address = HostPort(text: text), address.port > 0 {
            self.init(host: address.host, port: address.port)
            return
        }
        guard let colon = text.lastIndex(of: ":"),
            let port = WholeNumber.parse(text[text.index(after: colon)...]),
            (1...65_535).contains(port), HostText.isPattern(String(text[..<colon]))
        else { return nil }
        self.init(host: text[..<colon].lowercased(), port: port)
    }
}
