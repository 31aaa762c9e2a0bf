/// The results of name lookups, while they may be used.
///
/// Names of the configuration stay; of those that apps give, only the latest do, so that an app that
/// asks for ever new names displaces no other's.
struct ResolvedNames {
    /// The addresses of one name.
    struct Answer {
        var addresses: [SocketAddress]
        var learned: UInt64
        var expiry: UInt64
        /// The address that a connection was made to last: tried first, so that dead ones before it
        /// cost one connection their head start, and not each (RFC 8305 §4).
        var preferred: SocketAddress?
        /// The source of the name.
        var source: Resolver.Source

        /// The addresses in the order to try them.
        var inOrder: [SocketAddress] {
            guard let preferred, addresses.first != preferred, addresses.contains(preferred)
            else { return addresses }
            return [preferred] + addresses.filter { $0 != preferred }
        }
    }

    /// The number of names of each kind that are kept.
    private static let limit = 1024

    private var answers: [String: Answer] = [:]
    /// The names in the order in which they came, for each kind.
    private var arrivals: [Resolver.Source: [String]] = [:]

    subscript(host: String) -> Answer? { answers[host] }

    /// Changes the result for a name, if there is one.
    mutating func change(_ host: String, _ body: (inout Answer) -> Void) {
        guard var answer = answers[host] else { return }
        body(&answer)
        answers[host] = answer
    }

    /// Notes that the configuration has the name, too.
    mutating func claim(_ host: String, by source: Resolver.Source) {
        guard source == .configuration, answers[host]?.source == .app else { return }
        answers[host]?.source = source
        arrivals[source, default: []].append(host)
    }

    /// Keeps a result.
    mutating func store(
        _ addresses: [SocketAddress],
        of host: String,
        for source: Resolver.Source,
        learned: UInt64,
        expiry: UInt64
    ) {
        let earlier = answers[host]
        // A name of the configuration stays one when an app uses it, too.
        let owner = earlier?.source == .configuration ? .configuration : source
        answers[host] = Answer(
            addresses: addresses,
            learned: learned,
            expiry: expiry,
            preferred: earlier?.preferred.flatMap { addresses.contains($0) ? $0 : nil },
            source: owner
        )
        guard earlier?.source != owner else { return }
        arrivals[owner, default: []].append(host)
        while let oldest = arrivals[owner]?.first,
            (arrivals[owner]?.count ?? 0) > ResolvedNames.limit
        {
            arrivals[owner]?.removeFirst()
            // It may have changed hands.
            if answers[oldest]?.source == owner { answers[oldest] = nil }
        }
    }

    /// Forgets a name that has no address any more.
    mutating func remove(_ host: String) {
        guard let answer = answers.removeValue(forKey: host) else { return }
        arrivals[answer.source]?.removeAll { $0 == host }
    }
}
