public import FoundationEssentials

/// A final response with its whole content.
public struct WholeResponse: Sendable, CustomStringConvertible {
    /// The status.
    public let status: HTTPStatus
    /// The field section.
    public let headers: HTTPHeaders
    /// The content.
    public let content: ByteSlice
    /// The facts of the exchange: attempts, timings, connection.
    public let context: RequestContext
    /// The duration of the call, from its start to the last byte.
    public let duration: Duration
    let decoder: any ContentDecoding

    /// A copy of the content in Foundation's form.
    public var data: Data { Data(content.array) }

    /// The content as text; invalid UTF-8 is replaced.
    public var text: String { content.span.string(in: 0..<content.count) }

    /// Decodes the content, by default with the decoder of the endpoint or the channel.
    ///
    /// - Throws: `undecodable_response` with the response.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self,
        using decoder: (any ContentDecoding)? = nil
    ) throws(NetworkError) -> Value {
        do {
            return try (decoder ?? self.decoder).decode(type, from: data)
        } catch {
            throw undecodable("the content is no \(type): \(ErrorReason.of(error))", error)
        }
    }

    /// The status and length, such as `200, 512 bytes`.
    public var description: String { "\(status), \(content.count) bytes" }

    /// Decodes the content, or returns the value of missing content if the rule allows it.
    func value<Value: Decodable>(
        _ type: Value.Type,
        method: HTTPMethod,
        empty rule: EmptyContentRule
    ) throws(NetworkError) -> Value {
        guard content.isEmpty else { return try decode(type) }
        guard rule.allows(status, to: method) else {
            throw undecodable("the content is empty, which \(status) does not stand for", nil)
        }
        guard let empty = type as? any EmptyContent.Type,
            let value = empty.emptyContent as? Value
        else {
            throw undecodable("the content is empty, and \(type) has no value for that", nil)
        }
        return value
    }

    private func undecodable(_ detail: String, _ reason: (any Error)?) -> NetworkError {
        var kept = FailedResponse(
            status: status,
            headers: headers,
            content: Data(content.prefix(FailedResponse.contentLimit).array),
            isTruncated: content.count > FailedResponse.contentLimit
        )
        kept.decoder = decoder
        return kept.undecodable(detail, reason)
    }
}
