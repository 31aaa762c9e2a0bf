package import NetproxyConfig
import NetproxyHTTPMessage
package import NetworkCore
import Synchronization

/// The time during which a channel lacks a secret or a file that its configuration names.
///
/// As a transport, it refuses every request. A channel that refuses has no credential and no key.
package final class ChannelOutage: Sendable {
    /// The time that a start, a reload and the requests of a channel wait for a reading: the maximum run
    /// time of a helper program, and a little more.
    package static let patience = Duration.seconds(11)

    /// The reason of an outage whose first reading takes longer than `patience`.
    package static let late = "its secrets could not be read within \(patience.wholeSeconds) s"

    /// The treatment of requests during the outage.
    package enum Effect: Sendable {
        /// The channel refuses its requests.
        case refused
        /// The channel serves its requests with the values read before.
        case servedAsBefore
    }

    private struct State {
        var effect: Effect
        /// The reasons, one for each key; `nil` until the first reading has ended.
        var reasons: [String]?
        var isOver = false
        var waiting: [AsyncStream<Void>.Continuation] = []
    }

    /// The configuration that waits for its secrets.
    package let configuration: ChannelConfiguration
    package let pace: RecoveryPace
    private let began = ContinuousClock.now
    private let state: Mutex<State>

    /// Begins an outage; without reasons, the first reading is still in progress.
    package init(
        of configuration: ChannelConfiguration,
        _ effect: Effect,
        because reasons: [String]?,
        pace: RecoveryPace
    ) {
        self.configuration = configuration
        self.pace = pace
        state = Mutex(State(effect: effect, reasons: reasons))
    }

    package var name: String { configuration.name }

    package var effect: Effect { state.withLock { $0.effect } }

    /// The reasons in one line.
    package var reason: String {
        let reasons = state.withLock { $0.reasons } ?? []
        return reasons.isEmpty
            ? "its secrets are still being read" : reasons.joined(separator: "; ")
    }

    /// Whether the first reading is in progress.
    package var isStarting: Bool { state.withLock { $0.reasons == nil } }

    /// Whether the channel has all its secrets, or another configuration has replaced this one.
    package var isOver: Bool { state.withLock { $0.isOver } }

    /// The outage and its effect in one line.
    package var line: String {
        switch effect {
        case .refused: "channel \(name): responds with 503: \(reason)"
        case .servedAsBefore:
            "channel \(name): a secret or file could not be read again, the old one stays in force: "
                + reason
        }
    }

    /// Records the reasons for a failed attempt, and releases the requests that wait for the first one.
    package func note(_ reasons: [String], _ effect: Effect) {
        release { ($0.reasons, $0.effect) = (reasons, effect) }
    }

    /// Ends the outage, and releases the requests that wait for the first attempt.
    package func end() {
        release { state in
            state.reasons = state.reasons ?? []
            state.isOver = true
        }
    }

    private func release(after change: (inout State) -> Void) {
        let waiting = state.withLock { state in
            change(&state)
            defer { state.waiting = [] }
            return state.waiting
        }
        for waiter in waiting { waiter.finish() }
    }

    /// Returns when the first attempt has ended, `patience` has passed since the beginning, or the task is
    /// canceled.
    package func waitForFirstAttempt() async {
        let (events, event) = AsyncStream<Void>.makeStream()
        let isUnderWay = state.withLock { state in
            guard state.reasons == nil else { return false }
            state.waiting.append(event)
            return true
        }
        guard isUnderWay else { return }
        let rest = Self.patience - (ContinuousClock.now - began)
        let timer = Task {
            do { try await Task.sleep(for: rest) } catch { return }
            event.finish()
        }
        for await _ in events {}
        timer.cancel()
    }

    /// Returns the error for a request, and begins the next attempt if requests may begin one now.
    package func refusal() -> NetworkError {
        let wait = pace.untilRequest
        pace.hurry()
        return NetworkError(
            .credentialUnavailable,
            side: .proxy,
            retry: .safe,
            detail: reason,
            retryAfter: max(1, wait.wholeSeconds)
        )
    }
}

extension ChannelOutage: HTTPTransport {
    package func send(
        _ request: consuming Request,
        context: inout RequestContext
    ) async throws -> Response {
        throw refusal()
    }

    package func timed(by clock: any NetworkClock) -> any HTTPTransport { self }
}
