import NetworkCore
import OAuth
import RequestLog

extension OAuthEvent {
    /// What a person should know of it; nothing for what is routine.
    var line: String? {
        switch self {
        case .refreshed, .adopted, .stored, .forgotten: nil
        case .failed(let failure):
            "no token: \(failure.detail)"
                + (failure.wait.map { "; next attempt in \($0) s at the earliest" } ?? "")
        case .dead(let failure): failure.detail
        case .storeFailed(let detail): "token store: \(detail)"
        }
    }

    /// The event as it stands in the channel's log; nothing if another event says as much.
    var record: EventRecord? {
        switch self {
        case .refreshed(let generation, let reason, let duration):
            EventRecord(
                time: .now,
                event: .token,
                message: "a new token is in force",
                facts: [
                    ("generation", .number(generation)), ("reason", .text(reason.rawValue)),
                    ("duration_ms", .duration(duration)),
                ]
            )
        case .adopted(let generation):
            EventRecord(
                time: .now,
                event: .token,
                message: "a stored token was taken over",
                facts: [("generation", .number(generation))]
            )
        case .failed(let failure):
            EventRecord(
                time: .now,
                level: .warning,
                event: .token,
                message: failure.detail,
                facts: [("kind", .text(failure.kind))]
                    + (failure.wait.map { [("next_attempt_s", .number($0))] } ?? [])
            )
        case .dead(let failure):
            EventRecord(time: .now, level: .error, event: .token, message: failure.detail)
        case .storeFailed(let detail):
            EventRecord(time: .now, level: .error, event: .token, message: detail)
        case .forgotten:
            EventRecord(time: .now, event: .token, message: "the tokens were forgotten")
        case .stored: nil
        }
    }
}

extension OAuthFailure {
    /// Whole seconds from the failure to the next attempt; nothing if only a person can help.
    var wait: Int? { nextAttempt.map { max(0, ($0 - at).wholeSeconds) } }
}
