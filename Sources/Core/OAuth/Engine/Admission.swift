import NetworkCore

/// The requests that wait for the same event.
enum WaitQueue {
    case renewal
    case trial
}

/// The decision about a request without a usable token.
enum Admission<Queue: Sendable>: Sendable {
    case credential(Credential)
    case wait(Queue)
    case refused(RenewalBackoff.Refusal)

    /// Replaces the queue of a request that waits.
    func map<Other: Sendable>(_ queue: (Queue) -> Other) -> Admission<Other> {
        switch self {
        case .credential(let credential): .credential(credential)
        case .wait(let place): .wait(queue(place))
        case .refused(let refusal): .refused(refusal)
        }
    }
}

/// The decision about a 401.
enum Judgement<Queue: Sendable>: Sendable {
    case verdict(Verdict)
    case wait(Queue)

    /// Replaces the queue of a request that waits.
    func map<Other: Sendable>(_ queue: (Queue) -> Other) -> Judgement<Other> {
        switch self {
        case .verdict(let verdict): .verdict(verdict)
        case .wait(let place): .wait(queue(place))
        }
    }
}
