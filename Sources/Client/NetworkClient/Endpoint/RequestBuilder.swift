public import FoundationEssentials

/// A request under construction: a value whose methods return a changed copy.
///
///     let request = try RequestBuilder("https://api.example.com/v1")
///         .path("/orders").query(["page": "2"]).header("Accept", "application/json").build()
///
/// All checks happen in `build()`; invalid input never traps.
public struct RequestBuilder: Sendable {
    private var location: RequestLocation
    private var method: HTTPMethod = .get
    private var path = ""
    private var query: [any Encodable & Sendable] = []
    private var task: HTTPTask = .plain
    private var headers: HTTPHeaders = [:]
    private var fault: NetworkError?
    private var encoder: JSONEncoder?
    private var formEncoder: URLFormEncoder?
    /// The maximum duration of the whole call, for `NetworkManager.perform`; `nil` selects the channel's.
    public private(set) var timeout: Duration?
    /// The settings of an endpoint that apply only in `NetworkManager.perform`.
    private(set) var stallTimeout: Duration?
    private(set) var authorization: AuthorizationRequirement?
    private(set) var validation: SuccessRule?
    private(set) var decoder: (any ContentDecoding)?

    /// Creates a builder with a base URL.
    public init(_ baseURL: BaseURL = "") {
        location = RequestLocation(baseURL: baseURL)
    }

    /// Creates a builder with all settings of an endpoint.
    public init(_ endpoint: some Endpoint) {
        location = RequestLocation(baseURL: endpoint.baseURL)
        method = endpoint.method
        path = endpoint.path
        task = endpoint.task
        timeout = endpoint.timeout
        stallTimeout = endpoint.stallTimeout
        authorization = endpoint.authorization
        validation = endpoint.validation
        decoder = endpoint.decoder
        encoder = endpoint.encoder
        formEncoder = endpoint.formEncoder
        do {
            headers = try endpoint.headers
        } catch {
            fault = RequestBuilder.unencodable("the fields", error)
        }
    }

    /// Replaces the scheme, host and port, and keeps the path.
    public func origin(_ scheme: Origin.Scheme, host: String, port: UInt16? = nil) -> Self {
        self.scheme(scheme).host(host, port: port)
    }

    /// Replaces the scheme and keeps the host.
    ///
    /// A port other than the default of the former scheme is kept, too.
    public func scheme(_ scheme: Origin.Scheme) -> Self {
        changed { $0.location.scheme = scheme }
    }

    /// Replaces the host and port and keeps the scheme, which defaults to `https`.
    public func host(_ host: String, port: UInt16? = nil) -> Self {
        changed { $0.location.host = (host, port) }
    }

    /// Replaces the base URL: the scheme, host, port and common path.
    public func baseURL(_ baseURL: BaseURL) -> Self {
        changed { $0.location = RequestLocation(baseURL: baseURL) }
    }

    /// Replaces the settings that an endpoint defines.
    ///
    /// A scheme, host or base path that was set individually has precedence over the endpoint's. Queries add
    /// up, and
    /// so do fields of different names.
    public func endpoint(_ endpoint: some Endpoint) -> Self {
        var next = RequestBuilder(endpoint)
        next.location = location.over(endpoint.baseURL)
        next.query = query
        next.headers = headers(next.headers).headers
        next.fault = fault ?? next.fault
        next.timeout = next.timeout ?? timeout
        next.stallTimeout = next.stallTimeout ?? stallTimeout
        next.validation = next.validation ?? validation
        next.decoder = next.decoder ?? decoder
        next.encoder = next.encoder ?? encoder
        next.formEncoder = next.formEncoder ?? formEncoder
        return next
    }

    /// Replaces the timeout.
    public func timeout(_ timeout: Duration) -> Self { changed { $0.timeout = timeout } }

    /// Replaces the common path of all endpoints.
    public func basePath(_ path: String) -> Self { changed { $0.location.basePath = path } }

    /// Replaces the method.
    public func method(_ method: HTTPMethod) -> Self { changed { $0.method = method } }

    /// Replaces the path below the base URL; see `Endpoint.path`.
    public func path(_ path: String) -> Self { changed { $0.path = path } }

    /// Adds parameters to the query.
    public func query(_ parameters: QueryItems) -> Self { changed { $0.query.append(parameters) } }

    /// Adds the properties of a value to the query.
    public func query(encoding parameters: some Encodable & Sendable) -> Self {
        changed { $0.query.append(parameters) }
    }

    /// Replaces the content of the request.
    public func task(_ task: HTTPTask) -> Self { changed { $0.task = task } }

    /// Replaces the body by the JSON encoding of a value.
    public func json(_ value: some Encodable & Sendable) -> Self { task(.json(value)) }

    /// Replaces a header field.
    public func header(_ name: String, _ value: String) -> Self {
        checked(name, value) { $0.headers.set($1) }
    }

    /// Appends a field line.
    public func appendingHeader(_ name: String, _ value: String) -> Self {
        checked(name, value) { $0.headers.append($1) }
    }

    /// Replaces the fields with the names in the section.
    public func headers(_ fields: HTTPHeaders) -> Self {
        changed { builder in
            for field in fields { builder.headers.remove(field.name) }
            for field in fields { builder.headers.append(field) }
        }
    }

    /// Replaces the encoder of JSON bodies.
    public func encoder(_ encoder: JSONEncoder) -> Self { changed { $0.encoder = encoder } }

    /// Replaces the encoder of queries and forms.
    public func formEncoder(_ encoder: URLFormEncoder) -> Self {
        changed { $0.formEncoder = encoder }
    }

    /// Returns the builder with the channel's encoders unless it has its own.
    func encoding(as channel: NetworkChannel) -> Self {
        changed { builder in
            if builder.encoder == nil { builder.encoder = channel.encoder }
            if builder.formEncoder == nil { builder.formEncoder = channel.formEncoder }
        }
    }

    /// Returns the request.
    ///
    /// - Throws: `NetworkError` of kind `http_request_error` with the reason: an invalid base URL, a path
    ///   that leaves
    ///   the base URL or contains `..` as the value of a segment, an invalid field or parameter, or an
    ///   unreadable
    ///   file.
    public func build() throws(NetworkError) -> Request {
        if let fault { throw fault }
        let baseURL = location.baseURL
        guard let origin = baseURL.origin else {
            throw NetworkError.unsendable(
                "'\(Redaction.standard.malformedURL(baseURL.text))' is no base URL: "
                    + "expected http(s)://host[:port][/path]"
            )
        }
        let parts = TargetPath(self.path)
        let path = String(parts.path)
        var query = try self.query.map { value throws(NetworkError) in try encodedQuery(value) }
        let (body, type, more) = try content()
        if let more { query.append(try encodedQuery(more)) }
        if let own = parts.query {
            query.insert(PercentEncoding.encode(String(own), Grammar.isTargetByte), at: 0)
        }
        query.removeAll(where: \.isEmpty)
        var target = PercentEncoding.join(baseURL.path, path)
        guard TargetPath(target).staysUnder(baseURL.path.isEmpty ? "/" : baseURL.path) else {
            throw NetworkError.unsendable("the path leaves the base URL \(baseURL)")
        }
        guard !PercentEncoding.hasEncodedStep(path) else {
            throw NetworkError.unsendable("a segment of the path is '.' or '..'")
        }
        if !query.isEmpty { target += "?" + query.joined(separator: "&") }
        var headers = headers
        if let type { try setContentType(type, &headers) }
        try headers.checkFitness()
        return Request(
            method: method,
            origin: origin,
            target: target,
            headers: headers,
            body: body
        )
    }

    private func setContentType(
        _ type: String,
        _ headers: inout HTTPHeaders
    ) throws(NetworkError) {
        let isMultipart = type.hasPrefix("multipart/")
        // The type of a form always has precedence, because it contains the boundary.
        guard isMultipart || !headers.contains(HTTPFieldName.contentType) else { return }
        guard let field = HTTPField(.contentType, type) else {
            throw HTTPHeaders.unfit("Content-Type")
        }
        headers.set(field)
    }

    /// Returns the body, its type, and parameters for the query.
    private func content() throws(NetworkError) -> (
        HTTPBody, String?, (any Encodable & Sendable)?
    ) {
        switch task {
        case .plain: return (.empty, nil, nil)
        case .json(let value): return (try json(value), "application/json", nil)
        case .query(let query): return (.empty, nil, query)
        case .jsonAndQuery(let value, let query):
            return (try json(value), "application/json", query)
        case .parameters(let value):
            if method == .get || method == .head || method == .delete {
                return (.empty, nil, value)
            }
            return (try json(value), "application/json", nil)
        case .form(let value):
            let text: String
            do { text = try (formEncoder ?? URLFormEncoder()).form(value) } catch {
                throw RequestBuilder.unencodable("the form", error)
            }
            return (.bytes(ByteSlice(text)), "application/x-www-form-urlencoded", nil)
        case .multipart(let form): return (try form.body(), form.contentType, nil)
        case .multipartAndQuery(let form, let query):
            return (try form.body(), form.contentType, query)
        case .data(let data, let type): return (DataBody.body(data), type, nil)
        case .file(let path, let type): return (try FileContent.body(path: path), type, nil)
        case .stream(let source, let length, let type):
            return (.stream(source, length: length), type, nil)
        }
    }

    private func json(_ value: any Encodable & Sendable) throws(NetworkError) -> HTTPBody {
        do {
            return .bytes(ByteSlice(try (encoder ?? JSONEncoder()).encode(value).span))
        } catch {
            throw RequestBuilder.unencodable("the JSON body", error)
        }
    }

    private func encodedQuery(_ value: any Encodable & Sendable) throws(NetworkError) -> String {
        do {
            return try (formEncoder ?? URLFormEncoder()).query(value)
        } catch {
            throw RequestBuilder.unencodable("the query", error)
        }
    }

    private func checked(
        _ name: String,
        _ value: String,
        _ change: (inout RequestBuilder, HTTPField) -> Void
    ) -> RequestBuilder {
        changed { builder in
            do throws(NetworkError) {
                change(&builder, try HTTPHeaders.field(name, value))
            } catch {
                builder.fault = error
            }
        }
    }

    private func changed(_ change: (inout RequestBuilder) -> Void) -> RequestBuilder {
        var copy = self
        change(&copy)
        return copy
    }

    private static func unencodable(_ what: String, _ error: any Error) -> NetworkError {
        if let error = error as? NetworkError { return error }
        var failure = NetworkError.unsendable("\(what) cannot be encoded: \(ErrorReason.of(error))")
        failure.underlying = error
        return failure
    }
}
