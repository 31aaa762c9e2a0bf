import NetproxyEventIO
import NetworkCore

/// The requests that wait for a connection of a pool.
///
/// The requests of one sender are served in order, and the senders in turn, so that a burst from one sender
/// does not delay the others. Each operation takes constant time on average, regardless of the number of
/// waiters.
final class PoolQueue {
    /// The number of waiters.
    private(set) var count = 0
    /// The waiters of each sender.
    private var lines: [ObjectIdentifier?: Line<PoolWaiter>] = [:]
    /// The senders with a line, the next one first.
    private var turns = Line<ObjectIdentifier?>()
    /// The number of waiters that gave up and are still in their line.
    private var gone = 0

    /// Adds a waiter at the end of its sender's line.
    func add(_ waiter: PoolWaiter) {
        if lines[waiter.sender] == nil { turns.append(waiter.sender) }
        lines[waiter.sender, default: Line()].append(waiter)
        waiter.isQueued = true
        count += 1
    }

    /// Puts a waiter back at the front.
    func putBack(_ waiter: PoolWaiter) {
        if lines[waiter.sender] == nil { turns.prepend(waiter.sender) }
        lines[waiter.sender, default: Line()].prepend(waiter)
        waiter.isQueued = true
        count += 1
    }

    /// The senders of the waiters.
    var senders: some Collection<ObjectIdentifier?> { lines.keys }

    /// Removes and returns the next waiter that is still waiting and whose sender is eligible.
    func takeWaiting(
        where isEligible: (ObjectIdentifier?) -> Bool = { _ in true }
    ) -> PoolWaiter? {
        var skipped: [ObjectIdentifier?] = []
        defer { for sender in skipped.reversed() { turns.prepend(sender) } }
        while count > 0, let sender = turns.popFirst() {
            guard isEligible(sender) else {
                skipped.append(sender)
                continue
            }
            // Remove the line, so that it is changed in place.
            guard var line = lines.removeValue(forKey: sender) else { continue }
            let waiter = takeFirst(of: &line)
            if !line.isEmpty {
                lines[sender] = line
                turns.append(sender)
            }
            if let waiter, waiter.isWaiting { return waiter }
        }
        return nil
    }

    private func takeFirst(of line: inout Line<PoolWaiter>) -> PoolWaiter? {
        while let waiter = line.popFirst() {
            guard waiter.isQueued else {
                gone -= 1
                continue
            }
            waiter.isQueued = false
            count -= 1
            return waiter
        }
        return nil
    }

    /// Removes a waiter if it is queued.
    func remove(_ waiter: PoolWaiter) {
        guard waiter.isQueued else { return }
        waiter.isQueued = false
        count -= 1
        gone += 1
        // Abandoned waiters hold memory: keep only about as many as there are waiters.
        if gone > count + 64 { sweep() }
    }

    private func sweep() {
        gone = 0
        var left = Line<ObjectIdentifier?>()
        while let sender = turns.popFirst() {
            guard var line = lines.removeValue(forKey: sender) else { continue }
            line.removeAll { !$0.isQueued }
            guard !line.isEmpty else { continue }
            lines[sender] = line
            left.append(sender)
        }
        turns = left
    }
}

/// Elements in their order of arrival.
private struct Line<Element> {
    /// The elements before `head` have been removed.
    private var elements: [Element?] = []
    private var head = 0

    var isEmpty: Bool { head == elements.count }

    mutating func append(_ element: Element) { elements.append(element) }

    mutating func prepend(_ element: Element) {
        guard head > 0 else { return elements.insert(element, at: 0) }
        head -= 1
        elements[head] = element
    }

    mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        defer {
            elements[head] = nil
            head += 1
            // Half of the array is unused: moving the rest costs no more than adding it did.
            if head * 2 > elements.count + 32 {
                elements.removeFirst(head)
                head = 0
            }
        }
        return elements[head]
    }

    mutating func removeAll(where isRemoved: (Element) -> Bool) {
        elements.removeAll { $0.map(isRemoved) ?? true }
        head = 0
    }
}

/// One request that waits for a connection from a full pool.
final class PoolWaiter: TimerEntry {
    enum Grant {
        case connection(UpstreamConnection)
        /// The right to open a connection.
        case slot
        case timedOut
        case cancelled
        /// The awaited connection has failed.
        case failed(any Error)
    }

    /// The sender of the request: a channel of the program.
    let sender: ObjectIdentifier?
    /// The connections that a waiter can use.
    enum Demand {
        case any
        /// Only a new connection, since a pooled one was dead.
        case new
    }

    let demand: Demand
    /// Whether the waiter is in a queue.
    fileprivate(set) var isQueued = false
    private var result: Grant?
    private var continuation: CheckedContinuation<Void, Never>?

    var isWaiting: Bool { result == nil }

    init(of sender: ObjectIdentifier? = nil, for demand: Demand = .any) {
        self.sender = sender
        self.demand = demand
        super.init()
    }

    func wait() async -> Grant {
        if result == nil { await withCheckedContinuation { continuation = $0 } }
        return result ?? .timedOut
    }

    func grant(_ connection: UpstreamConnection?) {
        finish(connection.map(Grant.connection) ?? .slot)
    }

    func cancel() { finish(.cancelled) }

    func fail(_ error: any Error) { finish(.failed(error)) }

    override func fire() { finish(.timedOut) }

    private func finish(_ grant: Grant) {
        guard result == nil else { return }
        result = grant
        continuation?.resume()
        continuation = nil
    }
}
