import NetproxyRequestLog
import NetworkCore
import OAuth

extension OAuthEvent {
    /// The line for the operator; `nil` for routine events.
    var line: String? {
        switch self {
        case .refreshed, .adopted, .stored, .forgotten, .unusualType, .signedInElsewhere: nil
        case .failed(let failure):
            "no token: \(failure.detail)"
                + (failure.wait.map { "; next attempt in \($0) s at the earliest" } ?? "")
        case .dead(let failure): failure.detail
        case .storeFailed(_, let detail): "token store: \(detail)"
        }
    }

    /// The event in the channel's log; `nil` if another event reports the same.
    var record: EventRecord? {
        switch self {
        case .refreshed(let generation, let reason, let duration):
            EventRecord(
                time: .now,
                event: .token,
                message: "token renewed",
                facts: [
                    ("generation", .number(generation)), ("reason", .text(reason.rawValue)),
                    ("duration_ms", .duration(duration)),
                ]
            )
        case .adopted(let generation):
            EventRecord(
                time: .now,
                event: .token,
                message: "using the stored token",
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
        case .storeFailed(let fault, let detail):
            EventRecord(
                time: .now,
                level: .error,
                event: .token,
                message: detail,
                facts: [("fault", .text(fault.rawValue))]
            )
        case .forgotten:
            EventRecord(time: .now, event: .token, message: "the tokens were forgotten")
        case .unusualType(let type, let scheme):
            EventRecord(
                time: .now,
                event: .token,
                message:
                    "the token endpoint calls its tokens '\(type)'; they are sent as \(scheme)",
                facts: [("token_type", .text(type))]
            )
        case .stored, .signedInElsewhere: nil
        }
    }
}

extension OAuthFailure {
    /// Whole seconds from the failure to the next attempt; `nil` if a new sign-in is needed.
    var wait: Int? { nextAttempt.map { max(0, ($0 - at).wholeSeconds) } }
}
