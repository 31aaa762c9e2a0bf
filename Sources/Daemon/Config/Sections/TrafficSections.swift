/// The keys that determine when a request is sent again.
struct RetryKeys: SectionKeys {
    static let table = KeyTable(Self())
    static let example: String? = "{ attempts: 2 }"

    let unauthorized = Key("unauthorized", .either(.flag, or: UnauthorizedKeys.self), default: true)
    let spill = Key(
        "spill",
        .off(or: .size(in: ByteCount(1) ... .mebibytes(16 << 10))),
        default: "off"
    )
    let attempts = Key("attempts", .integer(0...10), default: 2)
    let status = Key(
        "status",
        .list(.integer(400...599, named: "a status")),
        default: [502, 503, 504]
    )
    let backoff = Key("backoff", BackoffKeys.self)
    let budget = Key(
        "budget",
        .scalar("a share such as 20%", as: .share) { Percentage(text: $0) },
        default: "20%"
    )
    let replayBody = Key(
        "replay_body",
        .off(or: .size(in: ByteCount(0) ... .mebibytes(64))),
        default: "64KiB"
    )
}

/// The responses other than a 401 with which the API refuses the token.
struct UnauthorizedKeys: SectionKeys {
    static let table = KeyTable(Self())

    let status = Key("status", .list(.refusalStatus), default: [])
    let body = Key("body", .refusalBody)
}

struct BackoffKeys: SectionKeys {
    static let table = KeyTable(Self())

    let base = Key("base", .duration, default: "100ms")
    let max = Key("max", .duration, default: "2s")
}

extension Form<Int> {
    /// A status that can refuse a token; of the successes only 203 can without a look at the content.
    fileprivate static var refusalStatus: Form {
        .scalar(
            "a status from 200 to 599",
            as: .number(200...599)
        ) { text in
            WholeNumber.parse(text).flatMap { (200...599).contains($0) ? $0 : nil }
        }
    }
}

extension Form<String> {
    fileprivate static var refusalBody: Form { .init(.opaque, Form.text.read) }
}

extension ChannelConfiguration.Retry {
    init(_ retry: Section<RetryKeys>) {
        let backoff = retry[\.backoff]
        let base = backoff[\.base]
        // The declared default of `max` may be too short for a long `base`.
        let longest = backoff.max.isWritten ? backoff[\.max] : Swift.max(base, backoff[\.max])
        if longest < base { backoff.max.report("must not be shorter than base") }
        let (kept, spill) = (retry[\.replayBody] ?? ByteCount(0), retry[\.spill])
        if let spill, spill <= kept {
            retry.reading.require("must be more than replay_body", at: retry.spill.place)
        }
        var (isReplayed, refusals) = (true, Refusals())
        switch retry[\.unauthorized] {
        case .scalar(let flag): isReplayed = flag
        case .map(let section): refusals = Refusals(section)
        }
        self.init(
            unauthorized: isReplayed,
            refusals: refusals,
            replayBody: kept,
            spill: spill,
            attempts: retry[\.attempts],
            status: retry[\.status],
            backoff: .init(base: base, max: longest),
            budget: retry[\.budget]
        )
    }
}

extension ChannelConfiguration.Retry.Refusals {
    fileprivate init(_ section: Section<UnauthorizedKeys>) {
        let further = section[\.status].filter { $0 != 401 }
        let body = section[\.body]
        if body != nil, further.isEmpty {
            section.status.require("required with body, which never limits a 401")
        }
        if body == nil, let success = further.first(where: { $0 < 300 && $0 != 203 }) {
            section.status.report(
                "\(success) is a success: add body, the text by which the API reports an expired token"
            )
        }
        self.init(status: further, body: body)
    }
}

struct TimeoutsKeys: SectionKeys {
    static let table = KeyTable(Self())
    static let example: String? = "{ total: 30s }"

    let connect = Key("connect", .durationOrOff, default: "10s")
    let response = Key("response", .durationOrOff, default: "10m")
    let idle = Key("idle", .durationOrOff, default: "10m")
    let total = Key("total", .durationOrOff, default: "off")
}

extension ChannelConfiguration.Timeouts {
    init(_ timeouts: Section<TimeoutsKeys>) {
        self.init(
            connect: timeouts[\.connect],
            response: timeouts[\.response],
            idle: timeouts[\.idle],
            total: timeouts[\.total]
        )
    }
}

struct PoolKeys: SectionKeys {
    static let table = KeyTable(Self())
    static let example: String? = "{ connections: 128 }"

    let connections = Key("connections", .integer(1...100_000), default: 128)
    let idle = Key("idle", .duration, default: "90s")
    let queue = Key("queue", .integer(0...1_000_000), default: 1024)
    let wait = Key("wait", .duration, default: "5s")
}

extension ChannelConfiguration.Pool {
    init(_ pool: Section<PoolKeys>) {
        self.init(
            connections: pool[\.connections],
            idle: pool[\.idle],
            queue: pool[\.queue],
            wait: pool[\.wait]
        )
    }
}
