import NetproxyEventIO
import NetworkCore

/// The requests that wait for a connection of a pool: those of one sender in the order in which they came,
/// and the senders in turn, so that no burst of one keeps the others waiting.
///
/// Each operation takes constant time on average, however many wait.
final class PoolQueue {
    /// The number of waiters.
    private(set) var count = 0
    /// The waiters of each sender.
    private var lines: [ObjectIdentifier?: Line<PoolWaiter>] = [:]
    /// The senders with a line, the next one first.
    private var turns = Line<ObjectIdentifier?>()
    /// The number of waiters that gave up, and are still in their line.
    private var gone = 0

    /// Adds one at the end of its sender's line.
    func add(_ waiter: PoolWaiter) {
        if lines[waiter.sender] == nil { turns.append(waiter.sender) }
        lines[waiter.sender, default: Line()].append(waiter)
        waiter.isQueued = true
        count += 1
    }

    /// Puts one back at the front.
    func putBack(_ waiter: PoolWaiter) {
        if lines[waiter.sender] == nil { turns.prepend(waiter.sender) }
        lines[waiter.sender, default: Line()].prepend(waiter)
        waiter.isQueued = true
        count += 1
    }

    /// Takes the next one that still waits.
    func takeWaiting() -> PoolWaiter? {
        while count > 0, let sender = turns.popFirst() {
            // Taken out, so that it is changed in place.
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

    /// Takes one out, if it is here.
    func remove(_ waiter: PoolWaiter) {
        guard waiter.isQueued else { return }
        waiter.isQueued = false
        count -= 1
        gone += 1
        // They hold memory: at most as many as wait.
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

/// Elements in the order in which they came.
private struct Line<Element> {
    /// Those before the head are gone.
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
            // Half of it is gone: to move the rest costs no more than to have added it.
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

/// One request that waits for a connection of a full pool.
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

    /// The sender of the request: a channel of a program.
    let sender: ObjectIdentifier?
    /// The connections that a waiter can use.
    enum Demand {
        case any
        /// Only a new one: a pooled connection was dead.
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
