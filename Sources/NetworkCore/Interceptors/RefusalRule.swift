import Bytes

/// Which answers may say that the credential was refused.
///
/// A 401 always does (RFC 9110 §15.5.2). Some APIs answer an expired token with another status, such as
/// 400 or 403, which usually means something else: those are named one by one, and may be told from the
/// rest by their content.
public struct RefusalRule: Sendable, Hashable {
    /// How much of the content is searched: an error is a sentence, not a document.
    static let searchLimit = 64 * 1024

    /// The statuses besides 401.
    public let statuses: [HTTPStatus]
    /// What the content of an answer with one of these statuses must contain, byte for byte.
    ///
    /// Without it every such answer counts. A 401 counts whatever it contains.
    public var phrase: String? { phrases.first }
    /// The same, where one of several will do.
    package let phrases: [String]

    /// Makes a rule; without arguments only a 401 counts.
    public init(statuses: [HTTPStatus] = [], phrase: String? = nil) {
        self.init(statuses: statuses, phrases: phrase.map { [$0] } ?? [])
    }

    /// Makes a rule for content that has one of several phrases; without any, every content counts.
    package init(statuses: [HTTPStatus], phrases: [String]) {
        self.statuses = statuses.filter { $0 != 401 }
        self.phrases = phrases
    }

    /// Whether an answer with this status may be a refusal.
    func mayApply(to status: HTTPStatus) -> Bool {
        status == 401 || (!statuses.isEmpty && statuses.contains(status))
    }

    /// Whether an answer with this status, to which the rule may apply, is a refusal.
    func applies(to status: HTTPStatus, _ content: ByteSlice?) -> Bool {
        guard status != 401, !phrases.isEmpty else { return true }
        return content.map { content in
            phrases.contains { RefusalRule.contains($0, content.span) }
        } ?? false
    }

    private static func contains(_ phrase: String, _ content: Span<UInt8>) -> Bool {
        let wanted = Array(phrase.utf8)
        guard !wanted.isEmpty, content.count >= wanted.count else { return wanted.isEmpty }
        return (0...(content.count - wanted.count)).contains { start in
            wanted.indices.allSatisfy { content[start + $0] == wanted[$0] }
        }
    }
}
