/// The cached results of name lookups.
///
/// Names from the configuration stay in the cache. Only the latest names from clients do, and a client that
/// requests ever new names does not displace a name from the configuration.
struct ResolvedNames {
    /// The addresses of one name.
    struct Lookup {
        var addresses: [SocketAddress]
        var learned: UInt64
        var expiry: UInt64
        /// The address of the last successful connection.
        ///
        /// It is tried first, so that dead addresses before it delay one connection, and not every one (RFC
        /// 8305 §4).
        var preferred: SocketAddress?
        /// The source of the name.
        var source: Resolver.Source

        /// The addresses in order of preference.
        var inOrder: [SocketAddress] {
            guard let preferred, addresses.first != preferred, addresses.contains(preferred)
            else { return addresses }
            return [preferred] + addresses.filter { $0 != preferred }
        }
    }

    /// The maximum number of names from each source.
    private static let limit = 1024

    private var answers: [String: Lookup] = [:]
    /// The names of each source in order of arrival.
    private var arrivals: [Resolver.Source: [String]] = [:]

    subscript(host: String) -> Lookup? { answers[host] }

    /// Changes the result for a name, if one exists.
    mutating func change(_ host: String, _ body: (inout Lookup) -> Void) {
        guard var answer = answers[host] else { return }
        body(&answer)
        answers[host] = answer
    }

    /// Records that the configuration also contains the name.
    mutating func claim(_ host: String, by source: Resolver.Source) {
        guard source == .configuration, answers[host]?.source == .app else { return }
        answers[host]?.source = source
        arrivals[source, default: []].append(host)
    }

    /// Stores a result.
    mutating func store(
        _ addresses: [SocketAddress],
        of host: String,
        for source: Resolver.Source,
        learned: UInt64,
        expiry: UInt64
    ) {
        let earlier = answers[host]
        // A name from the configuration keeps that source when a client also uses it.
        let owner = earlier?.source == .configuration ? .configuration : source
        answers[host] = Lookup(
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
            // The name may have a different source by now.
            if answers[oldest]?.source == owner { answers[oldest] = nil }
        }
    }

    /// Removes a name that no longer has an address.
    mutating func remove(_ host: String) {
        guard let answer = answers.removeValue(forKey: host) else { return }
        arrivals[answer.source]?.removeAll { $0 == host }
    }
}
