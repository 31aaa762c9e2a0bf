import NetproxyBytes
import NetproxyHTTP1
import NetproxyHTTPMessage
import NetworkCore

/// Limits the number of times that OPTIONS and TRACE requests are forwarded (RFC 9110 §7.6.2).
enum MaxForwards {
    /// Returns the response of the last recipient, which is netproxy if the count is 0.
    ///
    /// - Parameter head: the request.
    /// - Returns: the response; `nil` if the request is forwarded.
    /// - Throws: `http_request_error` for a count that is not a number.
    static func answer(to head: RequestHead) throws(NetworkError) -> Response? {
        guard try count(in: head.headers, of: head.method) == 0 else { return nil }
        return head.method == .trace ? reflection(of: head) : options
    }

    /// Decrements the count.
    static func countDown(_ headers: inout HTTPHeaders, of method: HTTPMethod) throws(NetworkError)
    {
        guard let count = try count(in: headers, of: method), count > 0 else { return }
        headers.remove(KnownField.maxForwards)
        headers.append(HTTPFieldName(known: .maxForwards), validated: String(count - 1))
    }

    /// The response of netproxy itself to OPTIONS; it does not know the methods that its upstreams allow.
    static var options: Response {
        Response(
            status: 200,
            headers: [.allow: "GET, HEAD, POST, PUT, DELETE, CONNECT, OPTIONS, TRACE, PATCH"],
            body: .bytes(ByteSlice([]))
        )
    }

    /// Returns the count; `nil` if the request has none, or its method ignores it.
    private static func count(
        in headers: HTTPHeaders,
        of method: HTTPMethod
    ) throws(NetworkError) -> Int? {
        guard method == .options || method == .trace else { return nil }
        let values = headers.values(of: HTTPFieldName(known: .maxForwards))
        guard let value = values.first else { return nil }
        guard values.count == 1, (1...9).contains(value.utf8.count),
            value.utf8.allSatisfy(Grammar.isDigit), let count = Int(value)
        else {
            throw NetworkError(
                .httpRequestError,
                side: .downstream,
                detail: "Max-Forwards is not a number",
                status: 400
            )
        }
        return count
    }

    /// Returns the request as it arrived, without fields that may be secret (RFC 9110 §9.3.8).
    private static func reflection(of head: RequestHead) -> Response {
        var headers = head.headers
        for field in head.headers where field.name.holdsCredential { headers.remove(field.name) }
        let output = OutputBuffer(capacity: 1024)
        output.append("TRACE \(head.target) HTTP/1.\(head.version == .http10 ? "0" : "1")\r\n")
        headers.encode(into: output)
        output.append("\r\n")
        return Response(
            status: 200,
            headers: [.contentType: "message/http"],
            body: .bytes(ByteSlice(output.span.array))
        )
    }
}
