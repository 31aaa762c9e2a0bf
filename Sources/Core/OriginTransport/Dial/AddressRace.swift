package import NetproxyEventIO

/// Connects to the first of several addresses that accepts (RFC 8305).
///
/// Each address has a head start over the next one, so an unreachable address costs a moment instead of half
/// of the available time. Address families alternate, since the addresses of one family usually fail
/// together.
package enum AddressRace {
    /// The delay before the next address is tried in parallel.
    package struct HeadStarts: Sendable {
        /// The head start of the first address.
        package let first: Duration
        /// The head start of each later address, if the first one did not accept in time.
        package let later: Duration

        package init(first: Duration, later: Duration) {
            self.first = first
            self.later = later
        }

        /// The delays of RFC 8305 §5: the recommended 250 ms, then the shortest permitted delay.
        package static let standard = HeadStarts(
            first: .milliseconds(250),
            later: .milliseconds(100)
        )
    }

    private enum Event: Sendable {
        case connected(LoopBound<StreamSocket>)
        case failed(IOError)
        /// The last head start has ended; contains the number of attempts when it began.
        case waited(Int)
    }

    /// Opens a connection.
    ///
    /// - Parameters:
    ///   - addresses: the addresses, in order of preference.
    ///   - loop: the loop of the connection; must be the current loop.
    ///   - deadline: the common deadline of all attempts, on the loop's clock.
    ///   - headStarts: the head start of each address over the next one.
    /// - Returns: the connection, which the caller closes.
    /// - Throws: `.unknownHost` without addresses, `.aborted` if the task is canceled, otherwise the most
    ///   specific error of the attempts.
    package static func connect(
        to addresses: [SocketAddress],
        on loop: EventLoop,
        until deadline: UInt64,
        headStarts: HeadStarts = .standard
    ) async throws(IOError) -> StreamSocket {
        guard let first = addresses.first else { throw .unknownHost("no address") }
        guard addresses.count > 1 else {
            return try await Dialer.connect(to: first, on: loop, until: deadline)
        }
        return try await withTaskGroup(of: Event.self) { group in
            let order = alternating(addresses)
            let winner = await run(&group, order, on: loop, until: deadline, headStarts)
            group.cancelAll()
            for await case .connected(let late) in group { late.value.close() }
            return winner
        }
        .get().value
    }

    /// Returns the addresses with alternating families, beginning with the first one's (RFC 8305 §4).
    package static func alternating(_ addresses: [SocketAddress]) -> [SocketAddress] {
        let preferred = addresses.filter { $0.family == addresses.first?.family }
        let others = addresses.filter { $0.family != addresses.first?.family }
        guard !others.isEmpty else { return addresses }
        return (0..<max(preferred.count, others.count)).flatMap { index in
            [preferred, others].compactMap { index < $0.count ? $0[index] : nil }
        }
    }

    private static func run(
        _ group: inout TaskGroup<Event>,
        _ addresses: [SocketAddress],
        on loop: EventLoop,
        until deadline: UInt64,
        _ headStarts: HeadStarts
    ) async -> Result<LoopBound<StreamSocket>, IOError> {
        var (begun, failed) = (0, 0)
        var failure: IOError?
        begin(addresses[begun], number: &begun, in: &group, on: loop, until: deadline, headStarts)
        while let event = await group.next() {
            switch event {
            case .connected(let socket): return .success(socket)
            case .failed(let error):
                failed += 1
                failure = telling(failure, error)
                // A canceled race does not try other addresses.
                guard error != .aborted, failed < addresses.count else {
                    return .failure(error == .aborted ? error : failure ?? error)
                }
                guard failed == begun else { continue }
            case .waited(let number):
                guard number == begun else { continue }
            }
            guard begun < addresses.count else { continue }
            begin(
                addresses[begun],
                number: &begun,
                in: &group,
                on: loop,
                until: deadline,
                headStarts
            )
        }
        return .failure(failure ?? .timedOut)
    }

    private static func begin(
        _ address: SocketAddress,
        number: inout Int,
        in group: inout TaskGroup<Event>,
        on loop: EventLoop,
        until deadline: UInt64,
        _ headStarts: HeadStarts
    ) {
        number += 1
        group.addTask {
            do throws(IOError) {
                let socket = try await Dialer.connect(to: address, on: loop, until: deadline)
                return .connected(LoopBound(socket, on: loop))
            } catch {
                return .failed(error)
            }
        }
        let begun = number
        group.addTask {
            // Cancelled when the race is over.
            _ = try? await loop.sleep(for: begun == 1 ? headStarts.first : headStarts.later)
            return .waited(begun)
        }
    }

    /// Returns the more specific of two errors.
    ///
    /// An error of the peer is more specific than the lack of a route for an address family.
    private static func telling(_ earlier: IOError?, _ later: IOError) -> IOError {
        guard let earlier else { return later }
        switch later {
        case .system, .denied: return earlier
        default: return later
        }
    }
}
