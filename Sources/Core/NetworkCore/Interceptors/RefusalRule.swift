import NetproxyBytes

/// The responses that may refuse the credential.
///
/// A 401 always does (RFC 9110 §15.5.2). Some APIs answer an expired token with another status, such as
/// 400 or 403, which usually means something else: those are named one by one, and may be told from the
/// rest by their content.
public struct RefusalRule: Sendable, Hashable {
    /// The size of the searched content: an error is a sentence, not a document.
    static let searchLimit = 64 * 1024

    /// The statuses besides 401.
    public let statuses: [HTTPStatus]
    /// The text that a response with one of these statuses must contain, byte for byte.
    ///
    /// Without it every such answer counts. A 401 counts whatever it contains.
    public let phrase: String?
    /// Answers that an API tells in its own way; `nil` if there are none.
    private let further: FurtherRefusals?

    /// Makes a rule; without arguments only a 401 counts.
    public init(statuses: [HTTPStatus] = [], phrase: String? = nil) {
        self.init(statuses: statuses, phrase: phrase, further: nil)
    }

    /// As above, with answers that an API tells in its own way.
    package init(
        statuses: [HTTPStatus] = [],
        phrase: String? = nil,
        further: FurtherRefusals?
    ) {
        self.statuses = statuses.filter { $0 != 401 }
        self.phrase = phrase
        self.further = further
    }

    /// Whether an answer with this status may be a refusal.
    func mayApply(to status: HTTPStatus) -> Bool {
        status == 401 || (!statuses.isEmpty && statuses.contains(status))
            || further?.statuses.contains(status) == true
    }

    /// Whether an answer with this status and these fields, to which the rule may apply and which is no
    /// 401, is judged by its content.
    func needsContent(of status: HTTPStatus, _ headers: HTTPHeaders) -> Bool {
        (phrase != nil && statuses.contains(status))
            || further.map { $0.statuses.contains(status) && $0.reader.isRefusal(headers) == nil }
                ?? false
    }

    /// Whether an answer, to whose status the rule may apply, is a refusal.
    func applies(to status: HTTPStatus, _ headers: HTTPHeaders, _ content: ByteSlice?) -> Bool {
        if status == 401 { return true }
        if statuses.contains(status) {
            guard let phrase else { return true }
            if let content, RefusalRule.contains(phrase, content.span) { return true }
        }
        guard let further, further.statuses.contains(status) else { return false }
        return further.reader.isRefusal(headers)
            ?? content.map { further.reader.isRefusal(headers, $0) } ?? false
    }

    private static func contains(_ phrase: String, _ content: Span<UInt8>) -> Bool {
        let wanted = Array(phrase.utf8)
        guard !wanted.isEmpty, content.count >= wanted.count else { return wanted.isEmpty }
        return (0...(content.count - wanted.count)).contains { start in
            wanted.indices.allSatisfy { content[start + $0] == wanted[$0] }
        }
    }
}

/// Detects refusals by the names that an API gives its errors, if a phrase would match too much.
package protocol RefusalReading: Sendable {
    /// Whether the fields of an answer say that it is a refusal; `nil` where only its content can tell.
    func isRefusal(_ headers: HTTPHeaders) -> Bool?

    /// Whether an answer whose fields do not say is a refusal, by the beginning of its content.
    func isRefusal(_ headers: HTTPHeaders, _ content: ByteSlice) -> Bool
}

/// Refusals that an API tells in its own way.
///
/// A class, so that a rule without them costs no more to copy than one word.
package final class FurtherRefusals: Sendable, Hashable {
    /// The statuses of the answers that are looked at.
    package let statuses: [HTTPStatus]
    let reader: any RefusalReading

    /// Has answers with some statuses judged by a reader.
    package init(_ statuses: [HTTPStatus], by reader: any RefusalReading) {
        self.statuses = statuses
        self.reader = reader
    }

    /// Whether both judge the same answers by readers of one type.
    package static func == (one: FurtherRefusals, other: FurtherRefusals) -> Bool {
        one.statuses == other.statuses && type(of: one.reader) == type(of: other.reader)
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(statuses) }
}
