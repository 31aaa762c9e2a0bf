/// Reads how a channel's tokens are signed.
struct JWTReader {
    let section: Section<JWTKey>

    func settings() -> JWTSettings? {
        let algorithm = section[.algorithm].flatMap { _ in
            section.choice(.algorithm, default: JWTSettings.Algorithm.es256)
        }
        let key = section.secret(.key) { .jwtKey($0, algorithm) }
        if section[.key] == nil { section.require(.key) }
        let (id, lifetime) = (section.text(.id), lifetime())
        let type = section.isOff(.type) ? nil : section.text(.type) ?? "JWT"
        let entries = claimEntries()
        let stamps = stamps(entries)
        let claims = entries.filter { JWTSettings.Stamp(rawValue: $0.key) == nil }
            .compactMap(claim)
        guard let key else { return nil }
        return JWTSettings(
            key: key,
            algorithm: algorithm,
            id: id,
            type: type,
            claims: claims,
            stamps: stamps,
            lifetime: lifetime
        )
    }

    private static let lifetimes = Duration.seconds(60)...Duration.seconds(86_400)

    private func lifetime() -> Duration {
        let usual = Duration.seconds(1200)
        let lifetime = section.duration(.lifetime, default: usual)
        guard Self.lifetimes.contains(lifetime) else {
            section.reading.report(
                "expected a duration from 1m to 24h, found '\(section[.lifetime]?.text ?? "")'",
                at: section.place(of: .lifetime)
            )
            return usual
        }
        return lifetime
    }

    private func claimEntries() -> [ConfigNode.Entry] {
        guard let node = section[.claims] else { return [] }
        guard let entries = node.entries else {
            section.reading.report(
                "expected a map, such as { iss: app }, found \(node.kind)",
                at: node
            )
            return []
        }
        // A null value removes a default.
        return entries.filter { !$0.value.isNull }
    }

    /// Which of the times and the id a token has: netproxy knows their values.
    private func stamps(_ entries: [ConfigNode.Entry]) -> Set<JWTSettings.Stamp> {
        var stamps = JWTSettings.Stamp.usual
        for entry in entries {
            guard let stamp = JWTSettings.Stamp(rawValue: entry.key) else { continue }
            switch entry.value.text {
            case "on", "true": stamps.insert(stamp)
            case "off", "false": stamps.remove(stamp)
            default:
                section.reading.report(
                    "expected on or off, because netproxy sets \(stamp.rawValue) itself, found "
                        + entry.value.found,
                    at: entry.value
                )
            }
        }
        return stamps
    }

    private func claim(_ entry: ConfigNode.Entry) -> JWTSettings.Claim? {
        guard TextRules.isPlain(entry.key) else {
            section.reading.report("expected the name of a claim", at: entry.place)
            return nil
        }
        return value(entry.value).map { JWTSettings.Claim(name: entry.key, value: $0) }
    }

    private func value(_ node: ConfigNode) -> JWTSettings.Claim.Value? {
        switch node.content {
        case .scalar("true"): return .flag(true)
        case .scalar("false"): return .flag(false)
        case .scalar(let text): return .text(text)
        case .list(let items):
            return .list(
                items.compactMap { section.reading.value($0, expected: "a text") { $0 } }
            )
        case .map(let entries): return .map(entries.filter { !$0.value.isNull }.compactMap(claim))
        case .null: return nil
        }
    }
}
