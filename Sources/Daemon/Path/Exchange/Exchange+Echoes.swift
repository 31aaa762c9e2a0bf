import NetproxyConfig
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetproxyRequestLog
import NetworkCore

/// Removal of the sent secrets from responses (`scrub`).
extension Exchange {
    /// The fields with digests of the content (RFC 9530; RFC 1864), which do not fit edited content, and the
    /// offer of ranges, which are never requested.
    private static let contentFields: Set<HTTPFieldName> = [
        "Content-Digest", "Repr-Digest", "Digest", "Content-MD5", "Accept-Ranges",
    ]
    /// The codings that are decoded.
    private static let codings: Set<String> = ["gzip", "x-gzip", "deflate", "identity"]

    /// Prepares a request for a channel whose responses are searched.
    mutating func prepareScrub(of request: inout Request) {
        guard let rules = channel?.rules, let secrets = rules.scrubbed else { return }
        record.context.scrubbed = secrets
        guard rules.scrub == .content else { return }
        // A secret could be split between two ranges.
        request.headers.remove([.range, "If-Range"])
        guard request.headers.contains(HTTPFieldName.acceptEncoding) else { return }
        let accepted = request.headers.elements(of: .acceptEncoding).filter { element in
            let name = element.prefix { $0 != ";" && $0 != " " && $0 != "\t" }
            return Exchange.codings.contains(name.lowercased())
        }
        request.headers.remove(HTTPFieldName.acceptEncoding)
        let value = accepted.isEmpty ? "identity" : accepted.joined(separator: ", ")
        request.headers.append(.acceptEncoding, validated: value)
    }

    /// Removes the sent secrets from a response.
    ///
    /// - Returns: the secrets, if the content is searched too.
    /// - Throws: `http_response_content_coding` with 502 if the content cannot be decoded.
    @inline(never)
    mutating func scrub(_ response: inout Response) throws(NetworkError) -> SentSecrets? {
        record.context.scrub(&response.headers)
        guard channel?.rules.scrub == .content, let secrets = record.context.sentSecrets else {
            return nil
        }
        response.announcedLength = nil
        switch response.body {
        case .empty, .tunnel: return secrets
        case .bytes, .stream: break
        }
        guard head.method != .head, response.status != 304 else { return secrets }
        try Exchange.decode(&response)
        response.headers.remove(Exchange.contentFields)
        response.body = secrets.removed(from: response.body)
        return secrets
    }

    /// Decodes the content of a response.
    private static func decode(_ response: inout Response) throws(NetworkError) {
        guard response.headers.contains(HTTPFieldName.contentEncoding) else { return }
        for coding in response.headers.elements(of: .contentEncoding).reversed()
        where coding.lowercased() != "identity" {
            guard let body = response.body.inflated(coding) else {
                response.body.cancel()
                throw NetworkError(
                    .httpResponseContentCoding,
                    side: .upstream,
                    detail:
                        "the content has the coding \(coding), and scrub: content can search only gzip "
                        + "and deflate"
                )
            }
            response.body = body
        }
        response.headers.remove(HTTPFieldName.contentEncoding)
        // The decoded content is another representation than the one that the tag names (RFC 9110 §8.8.1).
        if let tag = response.headers["ETag"], tag.hasPrefix("\"") {
            response.headers.remove("ETag")
            response.headers.append("ETag", validated: "W/" + tag)
        }
    }
}
