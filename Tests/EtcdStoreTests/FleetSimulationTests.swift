import Glibc
import NetworkCore
import TestSupport
import Testing

@testable import OAuth

/// The load of a fleet on etcd and the token endpoint, by the engine's own times: the figures of the
/// guide's page on fleets.
///
/// Machines have one identity with tokens of an hour, and make a request every ten seconds on average.
/// etcd applies one write after the other, and reports it a moment later. A machine that sees the lock
/// taken waits for news; one that does not see it yet tries, and costs three writes.
@Suite struct FleetSimulationTests {
    /// The cost of one renewal of a fleet.
    struct Cost: Equatable {
        var tokenRequests = 0
        /// Writes to etcd: leases, transactions, ends of leases.
        var writes = 0
        /// Machines that tried to take the lock.
        var attempts = 0
        /// Machines that waited for the news of the renewal.
        var waiting = 0
        /// From the first attempt to the news, in seconds.
        var duration = 0.0
    }

    /// The seconds for a write on a disk of cloud machines, and for its report by a watch.
    private static let (write, telling) = (0.0005, 0.005)
    /// The seconds for a token request.
    private static let endpoint = 0.3
    private static let lifetime = Duration.seconds(3600)

    /// The times at which the machines notice that their token needs a renewal, in order: with the
    /// first request after that, or with the first request after a boot.
    private func attempts(
        of machines: Int,
        _ random: inout SplitMix64,
        isBoot: Bool
    ) throws -> [Double] {
        let start = Moment(wall: UnixTime(secondsSinceEpoch: 1_800_000_000), steady: .now)
        let token = Token(
            value: Secret("token"),
            issuedAt: start,
            expiresAt: start + Self.lifetime,
            refreshAt: nil,
            refreshToken: nil,
            generation: 1,
            scope: nil,
            scheme: "Bearer",
            isForOneUse: false,
            proof: nil
        )
        return try (0..<machines).map { _ in
            let pause = -10 * log(1 - Double.random(in: 0..<1, using: &random))
            // All start within a second, and the token has expired.
            if isBoot { return Double.random(in: 0..<1, using: &random) + pause }
            let windows = try #require(
                TokenWindows(
                    token,
                    refreshBefore: .seconds(300),
                    jitter: Double.random(in: 0..<1, using: &random)
                )
            )
            return (windows.stale.steady - start.steady).seconds + pause
        }.sorted()
    }

    /// Plays one renewal.
    private func renewal(of machines: Int, isBoot: Bool) throws -> Cost {
        var random = SplitMix64(seed: UInt64(machines))
        var cost = Cost()
        // The time at which etcd has applied all requests so far.
        var free = 0.0
        func write(at time: Double) -> Double {
            cost.writes += 1
            free = max(free, time) + Self.write
            return free
        }
        var isLocked = Double.infinity
        var news = Double.infinity
        var first = 0.0
        // Leases are granted in order; transactions follow the earlier leases.
        var transactions: [(at: Double, machine: Int)] = []
        func decide(until time: Double) {
            while let next = transactions.first, next.at <= time {
                transactions.removeFirst()
                let done = write(at: next.at)
                guard isLocked == .infinity else {
                    // Another machine has the lock: the lease ends.
                    _ = write(at: done)
                    continue
                }
                isLocked = done + Self.telling
                cost.tokenRequests += 1
                let noted = write(at: done)
                news = noted + Self.endpoint + Self.write + Self.telling
                cost.writes += 2
            }
        }
        for (machine, time) in try attempts(of: machines, &random, isBoot: isBoot).enumerated() {
            decide(until: time)
            if time >= news { break }
            guard time < isLocked else {
                cost.waiting += 1
                continue
            }
            if cost.attempts == 0 { first = time }
            cost.attempts += 1
            transactions.append((write(at: time), machine))
        }
        decide(until: .infinity)
        cost.duration = news - first
        return cost
    }

    @Test(arguments: [(10, 1, 5), (1_000, 1, 5), (100_000, 40, 200)])
    func `a renewal costs one token request and few writes`(
        machines: Int,
        attempts: Int,
        writes: Int
    ) throws {
        let cost = try renewal(of: machines, isBoot: false)
        print("fleet of \(machines): \(cost)")
        #expect(cost.tokenRequests == 1)
        #expect(cost.attempts <= attempts)
        #expect(cost.writes <= writes)
    }

    @Test(arguments: [(10, 1), (1_000, 10), (100_000, 1_000)])
    func `a fleet that boots at once makes one token request`(machines: Int, attempts: Int) throws {
        let cost = try renewal(of: machines, isBoot: true)
        print("boot of \(machines): \(cost)")
        #expect(cost.tokenRequests == 1)
        #expect(cost.attempts <= attempts)
        #expect(cost.duration < 1)
    }
}
