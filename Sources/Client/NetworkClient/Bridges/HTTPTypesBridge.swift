public import FoundationEssentials
public import HTTPTypes

extension HTTPHeaders {
    /// Creates a section from the fields of swift-http-types, in their order.
    public init(_ fields: HTTPFields) {
        self.init()
        for field in fields {
            // HTTPFields repairs values, but check the result anyway.
            guard let name = HTTPFieldName(field.name.rawName),
                let own = NetproxyHTTPMessage.HTTPField(name, field.value)
            else { continue }
            append(own)
        }
    }

    /// The fields for swift-http-types, in their order.
    public var httpFields: HTTPFields {
        var fields = HTTPFields()
        for field in self {
            guard !field.name.isUnfit, let name = HTTPTypes.HTTPField.Name(field.name.text)
            else { continue }
            fields.append(HTTPTypes.HTTPField(name: name, value: field.value))
        }
        return fields
    }
}

extension Request {
    /// Creates a request from one of swift-http-types.
    ///
    /// - Throws: `http_request_error` if it has no `http` or `https` origin or no path.
    public init(_ request: HTTPRequest, body: HTTPBody = .empty) throws(NetworkError) {
        let base = BaseURL("\(request.scheme ?? "")://\(request.authority ?? "")")
        let path = request.path ?? "/"
        guard let origin = base.origin, base.path.isEmpty,
            let method = HTTPMethod(rawValue: request.method.rawValue), path.hasPrefix("/"),
            path.utf8.allSatisfy(Grammar.isTargetByte)
        else {
            throw NetworkError.unsendable("the request names no http(s) scheme, authority and path")
        }
        self.init(
            method: method,
            origin: origin,
            target: path,
            headers: HTTPHeaders(request.headerFields),
            body: body
        )
    }

    /// Creates a request from one of swift-http-types whose path is below a base URL, as generated clients
    /// make them.
    ///
    /// The paths are joined as they are, so that an encoded path is not encoded twice.
    ///
    /// - Throws: `http_request_error` if the base URL is no `http` or `https` URL, or the path is invalid.
    public init(
        _ request: HTTPRequest,
        below baseURL: URL,
        body: HTTPBody = .empty
    ) throws(NetworkError) {
        let base = BaseURL(baseURL)
        let path = request.path ?? "/"
        guard let origin = base.origin, path.hasPrefix("/") || path.hasPrefix("?") else {
            throw NetworkError.unsendable("\(base) is no base URL, or the path no path")
        }
        var head = request
        head.scheme = origin.scheme.rawValue
        head.authority = origin.authority
        head.path = base.path + (path.hasPrefix("?") ? "/\(path)" : path)
        try self.init(head, body: body)
    }

    /// The head of the request for swift-http-types.
    public var httpRequest: HTTPRequest {
        HTTPRequest(
            method: HTTPRequest.Method(rawValue: method.rawValue) ?? .get,
            scheme: origin.scheme.rawValue,
            authority: origin.authority,
            path: target,
            headerFields: headers.httpFields
        )
    }
}

extension Response {
    /// Creates a response from one of swift-http-types.
    ///
    /// - Throws: `http_protocol_error` if the status does not have three digits.
    public init(_ response: HTTPResponse, body: HTTPBody = .empty) throws(NetworkError) {
        guard let status = HTTPStatus(rawValue: response.status.code) else {
            throw NetworkError(
                .httpProtocolError,
                side: .upstream,
                detail: "the status \(response.status.code) has no three digits"
            )
        }
        self.init(status: status, headers: HTTPHeaders(response.headerFields), body: body)
    }

    /// The head of the response for swift-http-types.
    public var httpResponse: HTTPResponse {
        HTTPResponse(
            status: HTTPResponse.Status(code: status.rawValue),
            headerFields: headers.httpFields
        )
    }
}
