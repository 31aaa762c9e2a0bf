import NetproxyConfig
import NetworkCore

/// The client to which a request is charged.
enum RateClient: Hashable {
    /// The id of a lent key.
    case key(String)
    /// The user of a unix socket's peer.
    case user(UInt32)
    /// The address of a TCP connection's peer.
    case address(String)
    /// This machine, whose programs share their addresses.
    case loopback

    /// Identifies the client of a request.
    ///
    /// - Parameters:
    ///   - key: the id of the lent key in the request.
    ///   - userID: the peer's user id on a unix socket.
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

/// A token bucket that is fair among clients: a refused client has the next free token reserved until its
/// `Retry-After` has passed.
///
/// A client has at most one reservation and gets no other token while other clients wait. Of the
/// unreserved tokens, it leaves the waiting clients as many as it has taken itself, so a client that
/// ignores `Retry-After` gains nothing.
struct RateLimit {
    enum Verdict: Equatable {
        case admitted
        /// Try again after this number of seconds.
        case refused(retryAfter: Int)
    }

    private struct Reservation {
        let start: Duration
        let end: Duration
    }

    /// The largest number of clients with a reservation.
    private static let reservationLimit = 1024
    /// The largest number of clients with counted requests.
    private static let takenLimit = 4096

    let allowance: RateSettings.Allowance
    /// The seconds between two new tokens.
    private let interval: Double
    /// The number of unreserved tokens; negative if reserved tokens have yet to arrive.
    private var free: Double
    private var countedAt: Duration
    private var reservations: [RateClient: Reservation] = [:]
    /// The end of the first reservation to end.
    private var firstEnd: Duration?
    /// The number of tokens taken by each client since there are reservations.
    private var taken: [RateClient: Int] = [:]

    /// Creates a full bucket.
    ///
    /// - Parameters:
    ///   - allowance: the rate and the capacity.
    ///   - now: the time of any monotonic clock.
    init(_ allowance: RateSettings.Allowance, at now: Duration) {
        self.allowance = allowance
        interval = allowance.per.seconds / Double(allowance.requests)
        free = Double(allowance.burst)
        countedAt = now
    }

    /// Takes a token for a request, or returns when to try again.
    mutating func admit(_ client: RateClient, at now: Duration) -> Verdict {
        count(until: now)
        if let own = reservations[client] {
            // The only waiting client need not wait for its reservation.
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

    /// Returns the token of a request that was refused for another reason.
    mutating func putBack() { free = min(free + 1, Double(allowance.burst)) }

    /// Whether the bucket equals a new one.
    mutating func isFull(at now: Duration) -> Bool {
        count(until: now)
        return reservations.isEmpty && free >= Double(allowance.burst)
    }

    /// The tolerance for sums of fractions.
    private static let rounding = 1e-6

    /// Rounds up; never returns zero.
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

    /// Returns the number of tokens that the waiting clients need to have as many as this one.
    private func owed(by client: RateClient) -> Int {
        let own = taken[client] ?? leastTaken
        return reservations.keys.reduce(0) { sum, other in
            sum + max(0, own - (taken[other] ?? own))
        }
    }

    /// The count at which a late client starts.
    private var leastTaken: Int { taken.values.min() ?? 0 }

    private mutating func note(_ client: RateClient) {
        guard !reservations.isEmpty else { return }
        taken[client] = (taken[client] ?? leastTaken) + 1
        // Restarting the count is fair too.
        if taken.count > Self.takenLimit { taken = [:] }
    }

    /// Adds the tokens that arrived, and those of unused reservations.
    private mutating func count(until now: Duration) {
        // The clocks of two loops can differ a little.
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
