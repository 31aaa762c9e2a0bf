import NetproxyHTTPMessage
import NetproxyPresets
import NetproxySettings

/// The keys of a channel, and of `defaults`.
struct ChannelKeys: SectionKeys {
    static let table = KeyTable(Self())
    static let example: String? = "{ upstream: https://api.example.com }"

    let preset = Key("preset", .preset)
    /// The parameters of the preset, merged into the other keys by ``PresetExpansion``.
    let with = Key("with", .entries("a map of parameters", of: .opaque), default: [:])
    let upstream = Key("upstream", .list(.upstream))
    let http = Key("http", .choice(HTTPVersions.self), default: "auto")
    let host = Key(
        "host",
        .scalar("upstream, app or a host name with or without a port") { SentHost(text: $0) },
        default: "upstream"
    )
    let match = Key("match", MatchKeys.self)
    let log = Key("log", ChannelLogKeys.self)
    let headers = Key("headers", HeadersKeys.self)
    let trace = Key("trace", .choice(ChannelConfiguration.Trace.self), default: "pass")
    let auth = Key("auth", .authentication)
    let retry = Key("retry", RetryKeys.self)
    let timeouts = Key("timeouts", TimeoutsKeys.self)
    let pool = Key("pool", PoolKeys.self)
    let tls = Key("tls", TLSKeys.self)
    let access = Key("access", AccessKeys.self)
    let rewrite = Key("rewrite", .either(.flag, or: RewriteKeys.self), default: false)
    /// The default depends on the place of the credential.
    let scrub = Key("scrub", .choice(ChannelConfiguration.Scrub.self))
    let rate = Key("rate", .off(or: .map(RateKeys.self)), default: "off")
    let proxy = Key("proxy", .off(or: .proxy), default: "off")
    let stub = Key("stub", .stub, default: "off")
    let exec = Key("exec", .execVariables, default: [:])
}

struct ChannelLogKeys: SectionKeys {
    static let table = KeyTable(Self())

    /// The log's subsystem; the default contains the channel's name.
    let subsystem = Key("subsystem", .text)
    let category = Key("category", .text, default: "network")
    let query = Key("query", .choice(QueryMode.self), default: "keys")
    let headers = Key("headers", .list(.fieldName), default: [])
}

struct RewriteKeys: SectionKeys {
    static let table = KeyTable(Self())

    let links = Key("links", .flag, default: false)
    let cookies = Key("cookies", .flag, default: false)
}

extension Form<UpstreamURL> {
    static var upstream: Form {
        Form(.url) { slot in
            slot.node.flatMap { slot.reading.url($0, UpstreamURL.init(text:)) }
        }
    }
}

extension Form<[SampleAnswer]?> {
    fileprivate static var stub: Form {
        let form = Form.off(or: .answers)
        // A schema treats `off` as an empty list.
        return Form(Form<[SampleAnswer]>.answers.shape, form.read)
    }
}

extension Form<[ChannelConfiguration.ExecVariable]> {
    fileprivate static var execVariables: Form {
        let value = Form<ExecText>.scalar(ExecText.expectation) { ExecText(text: $0) }
        let entries = Form<[ConfigNode.Entry]>.entries("a map of variables", of: value.shape)
        return Form(entries.shape) { slot in
            entries.read(slot)?.compactMap { entry in
                guard TextRules.isVariableName(entry.key) else {
                    slot.reading.report(
                        "the name of a variable has letters, digits and '_', and begins with no digit",
                        at: entry.place
                    )
                    return nil
                }
                return value.read(slot.with(entry.value)).map { .init(name: entry.key, value: $0) }
            }
        }
    }
}
