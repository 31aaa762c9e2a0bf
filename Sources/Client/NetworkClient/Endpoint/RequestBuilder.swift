public import FoundationEssentials

/// A request in the making: a value whose methods each give back a changed copy.
///
///     let request = try RequestBuilder("https://api.example.com/v1")
///         .path("/orders").query(["page": "2"]).header("Accept", "application/json").build()
///
/// All checks happen in `build()`; no input traps.
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
    /// How long the whole call may take, where `NetworkManager.perform` sends it; `nil` leaves that
    /// to the channel.
    public private(set) var timeout: Duration?
    /// What an endpoint said that only counts where `NetworkManager.perform` sends the request.
    private(set) var authorization: AuthorizationRequirement?
    private(set) var validation: SuccessRule?
    private(set) var decoder: (any ContentDecoding)?

    /// Starts below a base URL.
    public init(_ baseURL: BaseURL = "") {
        location = RequestLocation(baseURL: baseURL)
    }

    /// Starts with all that an endpoint says.
    public init(_ endpoint: some Endpoint) {
        location = RequestLocation(baseURL: endpoint.baseURL)
        method = endpoint.method
        path = endpoint.path
        task = endpoint.task
        timeout = endpoint.timeout
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

    /// Replaces scheme, host and port, and keeps the path below them.
    public func origin(_ scheme: Origin.Scheme, host: String, port: UInt16? = nil) -> Self {
        self.scheme(scheme).host(host, port: port)
    }

    /// Replaces the scheme and keeps the host.
    ///
    /// A port that is not the former scheme's own is kept, too.
    public func scheme(_ scheme: Origin.Scheme) -> Self {
        changed { $0.location.scheme = scheme }
    }

    /// Replaces host and port and keeps the scheme, which is `https` where none was named.
    public func host(_ host: String, port: UInt16? = nil) -> Self {
        changed { $0.location.host = (host, port) }
    }

    /// Replaces scheme, host, port and the path that all endpoints share.
    public func baseURL(_ baseURL: BaseURL) -> Self {
        changed { $0.location = RequestLocation(baseURL: baseURL) }
    }

    /// Replaces all that an endpoint says something about.
    ///
    /// Scheme, host and base path that were named one by one stay instead of its own, queries add up,
    /// and so do fields of different names.
    public func endpoint(_ endpoint: some Endpoint) -> Self {
        var next = RequestBuilder(endpoint)
        next.location = location.over(endpoint.baseURL)
        next.query = query
        next.headers = headers(next.headers).headers
        next.fault = fault ?? next.fault
        next.timeout = next.timeout ?? timeout
        next.validation = next.validation ?? validation
        next.decoder = next.decoder ?? decoder
        next.encoder = next.encoder ?? encoder
        next.formEncoder = next.formEncoder ?? formEncoder
        return next
    }

    /// Replaces the timeout.
    public func timeout(_ timeout: Duration) -> Self { changed { $0.timeout = timeout } }

    /// Replaces the path that all endpoints share.
    public func basePath(_ path: String) -> Self { changed { $0.location.basePath = path } }

    /// Replaces the method.
    public func method(_ method: HTTPMethod) -> Self { changed { $0.method = method } }

    /// Replaces the path below the base URL; see `Endpoint.path`.
    public func path(_ path: String) -> Self { changed { $0.path = path } }

    /// Adds parameters to the query.
    public func query(_ parameters: QueryItems) -> Self { changed { $0.query.append(parameters) } }

    /// Adds the fields of a value to the query.
    public func query(encoding parameters: some Encodable & Sendable) -> Self {
        changed { $0.query.append(parameters) }
    }

    /// Replaces the content of the request.
    public func task(_ task: HTTPTask) -> Self { changed { $0.task = task } }

    /// Makes the body the JSON form of a value.
    public func json(_ value: some Encodable & Sendable) -> Self { task(.json(value)) }

    /// Replaces a field.
    public func header(_ name: String, _ value: String) -> Self {
        checked(name, value) { $0.headers.set($1) }
    }

    /// Adds a field line after those that are there.
    public func appendingHeader(_ name: String, _ value: String) -> Self {
        checked(name, value) { $0.headers.append($1) }
    }

    /// Replaces fields, those that the section names.
    public func headers(_ fields: HTTPHeaders) -> Self {
        changed { builder in
            for field in fields { builder.headers.remove(field.name) }
            for field in fields { builder.headers.append(field) }
        }
    }

    /// Encodes JSON bodies.
    public func encoder(_ encoder: JSONEncoder) -> Self { changed { $0.encoder = encoder } }

    /// Encodes queries and forms.
    public func formEncoder(_ encoder: URLFormEncoder) -> Self {
        changed { $0.formEncoder = encoder }
    }

    /// With the encoders of a channel where none was named.
    func encoding(as channel: NetworkChannel) -> Self {
        changed { builder in
            if builder.encoder == nil { builder.encoder = channel.encoder }
            if builder.formEncoder == nil { builder.formEncoder = channel.formEncoder }
        }
    }

    /// Makes the request.
    ///
    /// - Throws: `NetworkError` of kind `http_request_error` that says what is wrong: an invalid base
    ///   URL, a path that leaves it or has a value of `..` as a segment, a field or a parameter
    ///   that cannot be sent, a file that cannot be read.
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
        // The boundary is in the field, so that a form's own type always wins.
        guard isMultipart || !headers.contains(HTTPFieldName.contentType) else { return }
        guard let field = HTTPField(.contentType, type) else {
            throw HTTPHeaders.unfit("Content-Type")
        }
        headers.set(field)
    }

    /// The body, its type, and parameters for the query.
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
