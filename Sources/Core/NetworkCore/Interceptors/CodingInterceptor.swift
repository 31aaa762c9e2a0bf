/// The decoding of content in a chain.
package struct ContentCodings: Sendable {
    /// The requested codings, in order of preference (RFC 9110 §12.5.3).
    package var accepted: String
    /// Returns a body without its outermost coding; `nil` if the coding is unknown.
    package var decode: @Sendable (HTTPBody, _ coding: Substring) -> HTTPBody?

    /// Creates the codings.
    package init(
        accepted: String,
        decode: @escaping @Sendable (HTTPBody, _ coding: Substring) -> HTTPBody?
    ) {
        self.accepted = accepted
        self.decode = decode
    }
}

/// Requests compressed content and decodes it.
///
/// The content is not decoded if the request has a range or requests `identity`, because the client counts or
/// stores the bytes. An unknown coding remains in the content and in the field, and so do the codings below
/// it.
struct CodingInterceptor: RequestInterceptor {
    /// The maximum number of decoded codings of one response; well-behaved servers use one.
    private static let limit = 3

    private let codings: ContentCodings

    init(_ codings: ContentCodings) {
        self.codings = codings
    }

    /// Requests the codings, unless the request has its own `Accept-Encoding`.
    func begin(_ headers: inout HTTPHeaders) {
        guard !headers.contains(HTTPFieldName.acceptEncoding),
            !headers.contains(HTTPFieldName.range)
        else { return }
        headers.append(.acceptEncoding, validated: codings.accepted)
    }

    /// Whether the content has no coding.
    func accepts(_ response: borrowing Response) -> Bool {
        !response.headers.contains(HTTPFieldName.contentEncoding)
    }

    func intercept(
        _ request: Request,
        context: inout RequestContext,
        next: RequestChain
    ) async throws -> Response {
        var request = request
        begin(&request.headers)
        var response = try await next.send(request, context: &context)
        guard !accepts(response), request.method != .head, response.status != 206,
            !request.headers.contains(HTTPFieldName.range),
            request.headers[.acceptEncoding]?.lowercased() != "identity"
        else { return response }
        if case .empty = response.body { return response }
        var names = response.headers.elements(of: .contentEncoding)
        let count = names.count
        guard count <= Self.limit else {
            response.body.cancel()
            throw NetworkError(
                .httpResponseContentCoding,
                side: .upstream,
                detail: "the content has \(count) codings, more than \(Self.limit)"
            )
        }
        while let name = names.last {
            if name.lowercased() != "identity" {
                guard let body = codings.decode(response.body, name) else { break }
                response.body = body
            }
            names.removeLast()
        }
        guard names.count < count else { return response }
        response.headers.remove(HTTPFieldName.contentEncoding)
        if !names.isEmpty {
            response.headers.append(.contentEncoding, validated: names.joined(separator: ", "))
        }
        // The removed `Content-Length` is that of the encoded content.
        response.headers.remove(HTTPFieldName.contentLength)
        return response
    }
}
