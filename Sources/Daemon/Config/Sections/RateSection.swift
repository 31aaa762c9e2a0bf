/// The keys that limit the requests of a channel, and those of each lent key.
struct AllowanceKeys: SectionKeys {
    static let table = KeyTable(Self())
    static let example: String? = "{ requests: 60, per: 1m }"

    let requests = Key("requests", .integer(1...1_000_000))
    let per = Key("per", .duration(in: .seconds(1) ... .seconds(86_400)), default: "1m")
    let burst = Key("burst", .integer(1...1_000_000))
}

struct RateKeys: SectionKeys {
    static let table = KeyTable(Self())
    static let example: String? = AllowanceKeys.example

    let allowance = AllowanceKeys()
    let eachKey = Key("each_key", .off(or: .map(AllowanceKeys.self)), default: "off")
}

extension RateSettings {
    init(_ rate: Section<RateKeys>) {
        let eachKey = rate[\.eachKey].map(Allowance.init)
        let all = rate.group(\.allowance)
        let isLimited = [all.requests, all.per, all.burst].contains(where: \.isWritten)
        self.init(all: isLimited || eachKey == nil ? Allowance(all) : nil, eachKey: eachKey)
    }
}

extension RateSettings.Allowance {
    fileprivate init(_ section: Section<AllowanceKeys>) {
        section.requests.requireWritten()
        let (count, time) = (section[\.requests] ?? 1, section[\.per])
        // A client waits whole seconds, so the burst must include the requests of one second.
        let inOneSecond = (count + Int(time.components.seconds) - 1) / Int(time.components.seconds)
        self.init(
            requests: count,
            per: time,
            burst: section[\.burst] ?? min(count, max(10, inOneSecond))
        )
    }
}
