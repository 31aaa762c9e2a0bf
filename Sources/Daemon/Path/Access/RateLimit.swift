import NetproxyConfig
import NetworkCore

/// Who a request counts for.
enum RateClient: Hashable {
    /// The id of a lent key.
    case key(String)
    /// The user of a unix socket's peer.
    case user(UInt32)
    /// The address of a TCP connection's peer.
    case address(String)
    /// This machine: its programs cannot be told apart by their addresses.
    case loopback

    /// Tells the client of a request by what is known of it.
    ///
    /// - Parameters:
    ///   - key: the id of the lent key that was shown.
    ///   - userID: the peer's user, on a unix socket.
    ///   - address: the peer's address and port.
    init(key: String?, userID: UInt32?, address: String) {
        if let key {
            self = .key(key)
        } else if let userID {
            self = .user(userID)
        } else {
            let end = address.utf8.lastIndex(of: UInt8(ascii: ":")) ?? address.endIndex
            let host = address[..<end].drop { $0 == "[" }.prefix { $0 != "]" }
            self = IPAddress(String(host))?.isLoopback == true ? .loopback : .address(String(host))
        }
    }
}

/// A token bucket that is fair among clients: one that was refused has the next free token reserved, and
/// finds it when its `Retry-After` is over.
///
/// A client has one reservation however many requests it sends, and until then it gets nothing while
/// others wait too. Of what is free beside reservations, it leaves as much to those that wait as it has
/// taken itself: one that ignores `Retry-After` gets no more than one that heeds it.
struct RateLimit {
    enum Verdict: Equatable {
        case admitted
        /// Try again after so many seconds.
        case refused(retryAfter: Int)
    }

    private struct Reservation {
        let start: Duration
        let end: Duration
    }

    /// The largest number of clients that wait with a reservation.
    private static let reservationLimit = 1024
    /// The largest number of clients whose requests are compared.
    private static let takenLimit = 4096

    let allowance: RateSettings.Allowance
    /// The time in which one token comes, in seconds.
    private let interval: Double
    /// The tokens that no one has reserved; below zero if reserved ones have yet to come.
    private var free: Double
    private var countedAt: Duration
    private var reservations: [RateClient: Reservation] = [:]
    /// When the first of them ends.
    private var firstEnd: Duration?
    /// What clients have taken since there are reservations.
    private var taken: [RateClient: Int] = [:]

    /// A full bucket.
    ///
    /// - Parameters:
    ///   - allowance: what comes in, and how much there is room for.
    ///   - now: by any clock that does not go back.
    init(_ allowance: RateSettings.Allowance, at now: Duration) {
        self.allowance = allowance
        interval = allowance.per.seconds / Double(allowance.requests)
        free = Double(allowance.burst)
        countedAt = now
    }

    /// Takes a token for a request of a client, or tells when to try again.
    mutating func admit(_ client: RateClient, at now: Duration) -> Verdict {
        count(until: now)
        if let own = reservations[client] {
            // Alone, a client need not wait for its own reservation.
            guard now >= own.start || reservations.count == 1 && free >= -Self.rounding else {
                return .refused(retryAfter: Self.wholeSeconds((own.start - now).seconds))
            }
            reservations[client] = nil
            note(client)
            return .admitted
        }
        if free >= 1 - Self.rounding, free >= 1 - Self.rounding + Double(owed(by: client)) {
            free -= 1
            note(client)
            return .admitted
        }
        let seconds = Self.wholeSeconds((1 - free) * interval)
        reserve(for: client, from: now + .seconds(seconds))
        return .refused(retryAfter: seconds)
    }

    /// Puts back the token of a request that was refused for another reason.
    mutating func putBack() { free = min(free + 1, Double(allowance.burst)) }

    /// Whether it is as good as a new one.
    mutating func isFull(at now: Duration) -> Bool {
        count(until: now)
        return reservations.isEmpty && free >= Double(allowance.burst)
    }

    /// What sums of fractions may lack.
    private static let rounding = 1e-6

    /// Rounded up, and never zero.
    private static func wholeSeconds(_ seconds: Double) -> Int {
        max(1, Int((seconds - rounding).rounded(.up)))
    }

    private mutating func reserve(for client: RateClient, from start: Duration) {
        guard reservations.count < Self.reservationLimit else { return }
        let end = start + .seconds(max(1, interval))
        if taken[client] == nil { taken[client] = leastTaken }
        reservations[client] = Reservation(start: start, end: end)
        firstEnd = min(firstEnd ?? end, end)
        free -= 1
    }

    /// How many tokens the clients that wait have yet to get until they have as many as this one.
    private func owed(by client: RateClient) -> Int {
        let own = taken[client] ?? leastTaken
        return reservations.keys.reduce(0) { sum, other in
            sum + max(0, own - (taken[other] ?? own))
        }
    }

    /// What one that comes late is taken to have had.
    private var leastTaken: Int { taken.values.min() ?? 0 }

    private mutating func note(_ client: RateClient) {
        guard !reservations.isEmpty else { return }
        taken[client] = (taken[client] ?? leastTaken) + 1
        // To begin again is fair too.
        if taken.count > Self.takenLimit { taken = [:] }
    }

    /// Adds the tokens that have come, and those of reservations that no one used.
    private mutating func count(until now: Duration) {
        // The clocks of two loops may differ a little.
        guard now > countedAt else { return }
        let room = Double(allowance.burst)
        free = min(free + (now - countedAt).seconds / interval, room)
        countedAt = now
        if reservations.isEmpty { taken = [:] }
        guard let firstEnd, firstEnd < now else { return }
        let unused = reservations.filter { $0.value.end < now }
        for client in unused.keys { (reservations[client], taken[client]) = (nil, nil) }
        free = min(free + Double(unused.count), room)
        self.firstEnd = reservations.values.map(\.end).min()
    }
}
