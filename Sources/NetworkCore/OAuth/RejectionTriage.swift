/// What a 401 means, by its challenges (RFC 6750 §3.1).
enum RejectionTriage {
    /// Why no new token would help, or nothing if one may.
    static func reasonToPass(_ challenges: [Challenge]) -> String? {
        // No challenge, or a bare one: many servers say no more when a token expired.
        guard !challenges.isEmpty else { return nil }
        guard let bearer = challenges.first(where: { $0.scheme == "bearer" }) else {
            return "another_scheme"
        }
        switch bearer.error {
        case nil, "invalid_token": return nil
        case "insufficient_scope": return "insufficient_scope"
        case "invalid_request": return "invalid_request"
        // RFC 9470: a person must authenticate again.
        case "insufficient_user_authentication": return "step_up_required"
        default: return nil
        }
    }
}
