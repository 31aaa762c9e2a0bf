import NetproxyBytes

/// The responses that may refuse the credential.
///
/// A 401 always does (RFC 9110 §15.5.2). Some APIs respond to an expired token with another status, such as
/// 400 or 403, or 200 with an error in the content (GraphQL), which usually has another meaning. Those
/// statuses must be listed, and their content can narrow them.
public struct RefusalRule: Sendable, Hashable {
    /// The maximum size of the searched content; error messages are short.
    static let searchLimit = 64 * 1024

    /// The statuses besides 401.
    public let statuses: [HTTPStatus]
    /// The text that a response with one of these statuses must contain, byte for byte.
    ///
    /// Without it, every such response counts. A 401 counts regardless of its content.
    public let phrase: String?
    /// Refusals that are specific to an API; `nil` if there are none.
    private let further: FurtherRefusals?

    /// Creates a rule; without arguments, only a 401 counts.
    public init(statuses: [HTTPStatus] = [], phrase: String? = nil) {
        self.init(statuses: statuses, phrase: phrase, further: nil)
    }

    /// Creates a rule with refusals that are specific to an API.
    package init(
        statuses: [HTTPStatus] = [],
        phrase: String? = nil,
        further: FurtherRefusals?
    ) {
        self.statuses = statuses.filter { $0 != 401 }
        self.phrase = phrase
        self.further = further
    }

    /// Whether a response with this head may be a refusal.
    func mayApply(to response: borrowing Response) -> Bool {
        let status = response.status
        if status == 401 || further?.statuses.contains(status) == true { return true }
        guard !statuses.isEmpty, statuses.contains(status) else { return false }
        return status.kind != .successful || phrase == nil || RefusalRule.isShortText(response)
    }

    /// Whether content is searched, so that the API must not use a coding that is not decoded here.
    var searchesContent: Bool { phrase != nil }

    /// The part of the content that decides whether a response is a refusal; `nil` if the head decides.
    ///
    /// The rule must apply to the response, and the status must not be 401. A success of unknown length may
    /// be a stream: only its first piece is examined, and the rest is not waited for.
    func reach(into response: borrowing Response) -> PeekedBody.Reach? {
        let (status, headers) = (response.status, response.headers)
        let isNeeded =
            (phrase != nil && statuses.contains(status))
            || further.map { $0.statuses.contains(status) && $0.reader.isRefusal(headers) == nil }
                ?? false
        guard isNeeded else { return nil }
        return status.kind == .successful && response.body.length == nil ? .firstPiece : .whole
    }

    /// Whether a success has content that can be an error message: text, of which the length is unknown
    /// or within the limit, and which is no stream of events or parts.
    private static func isShortText(_ response: borrowing Response) -> Bool {
        if let length = response.body.length, length == 0 || length > searchLimit { return false }
        if let coding = response.headers[.contentEncoding] {
            guard ContentInflation.isDecodable(coding) else { return false }
        }
        guard let type = response.headers[.contentType]?.lowercased() else { return true }
        let essence = type.prefix { $0 != ";" && $0 != " " && $0 != "\t" }
        let isStream = ["event-stream", "ndjson", "jsonl", "json-seq", "stream+json", "json-lines"]
            .contains { essence.hasSuffix($0) }
        return !isStream
            && (essence.hasPrefix("text/") || essence.hasSuffix("json") || essence.hasSuffix("xml")
                || essence == "application/x-www-form-urlencoded")
    }

    /// Whether a response is a refusal; the rule must apply to its status.
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

/// Detects refusals by an API's own error names, if a phrase would match too much.
package protocol RefusalReading: Sendable {
    /// Returns whether a response is a refusal by its fields; `nil` if only its content can decide.
    func isRefusal(_ headers: HTTPHeaders) -> Bool?

    /// Whether a response is a refusal by the beginning of its content, if its fields do not decide.
    func isRefusal(_ headers: HTTPHeaders, _ content: ByteSlice) -> Bool
}

/// Refusals that are specific to an API.
///
/// A class, so that a rule without them copies only one word.
package final class FurtherRefusals: Sendable, Hashable {
    /// The statuses of the inspected responses.
    package let statuses: [HTTPStatus]
    let reader: any RefusalReading

    /// Creates refusals for which a reader inspects the responses with some statuses.
    package init(_ statuses: [HTTPStatus], by reader: any RefusalReading) {
        self.statuses = statuses
        self.reader = reader
    }

    /// Whether both inspect the same statuses with readers of the same type.
    package static func == (one: FurtherRefusals, other: FurtherRefusals) -> Bool {
        one.statuses == other.statuses && type(of: one.reader) == type(of: other.reader)
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(statuses) }
}
