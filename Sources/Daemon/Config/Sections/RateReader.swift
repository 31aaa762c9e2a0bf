/// Reads how many requests a channel takes.
struct RateReader {
    let section: Section<RateKey>

    func settings() -> RateSettings? {
        let hasEachKey = section[.eachKey] != nil && !section.isOff(.eachKey)
        let eachKey = hasEachKey ? eachKey() : nil
        let allKeys: [RateKey] = [.requests, .per, .burst]
        guard allKeys.contains(where: { section[$0] != nil }) || !hasEachKey else {
            return eachKey.map { RateSettings(all: nil, eachKey: $0) }
        }
        if section[.requests] == nil { section.require(.requests) }
        let all = allowance(section, .requests, .per, .burst)
        return RateSettings(all: all, eachKey: eachKey)
    }

    private func eachKey() -> RateSettings.Allowance {
        let section = section.section(.eachKey, EachKeyKey.self)
        if section[.requests] == nil { section.require(.requests) }
        return allowance(section, .requests, .per, .burst)
    }

    private static let times = Duration.seconds(1)...Duration.seconds(86_400)

    private func allowance<Key: SectionKey>(
        _ section: Section<Key>,
        _ requests: Key,
        _ per: Key,
        _ burst: Key
    ) -> RateSettings.Allowance {
        let count = section.integer(requests, in: 1...1_000_000, default: 1)
        var time = section.duration(per, default: .seconds(60))
        if !Self.times.contains(time) {
            section.reading.report(
                "expected a duration from 1s to 24h, found '\(section[per]?.text ?? "")'",
                at: section.place(of: per)
            )
            time = .seconds(60)
        }
        // A client waits whole seconds: there must be room for what comes in one.
        let inOneSecond = (count + Int(time.components.seconds) - 1) / Int(time.components.seconds)
        return RateSettings.Allowance(
            requests: count,
            per: time,
            burst: section.integer(
                burst,
                in: 1...1_000_000,
                default: min(count, max(10, inOneSecond))
            )
        )
    }
}
