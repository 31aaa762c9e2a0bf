import FoundationEssentials
import NetproxyBytes

extension HTTPHeaders {
    /// Makes a section from values that may come from anywhere.
    ///
    /// - Throws: `http_request_error` that names the field whose value no field may hold.
    public init(validating fields: KeyValuePairs<HTTPFieldName, String>) throws(NetworkError) {
        self.init()
        for (name, value) in fields {
            guard let field = HTTPField(name, value) else { throw HTTPHeaders.unfit(name.text) }
            append(field)
        }
    }

    /// Replaces all lines of a name by one, whose name and value may come from anywhere.
    ///
    /// - Parameters:
    ///   - name: the name, a token (RFC 9110 §5.1).
    ///   - value: the value, without control bytes and outer white space (RFC 9110 §5.5).
    /// - Throws: `http_request_error` that names the field, and never shows its value.
    public mutating func set(_ name: String, _ value: String) throws(NetworkError) {
        set(try HTTPHeaders.field(name, value))
    }

    /// Adds a line after the others, whose name and value may come from anywhere.
    ///
    /// - Parameters:
    ///   - name: the name, a token (RFC 9110 §5.1).
    ///   - value: the value, without control bytes and outer white space (RFC 9110 §5.5).
    /// - Throws: `http_request_error` that names the field, and never shows its value.
    public mutating func append(_ name: String, _ value: String) throws(NetworkError) {
        append(try HTTPHeaders.field(name, value))
    }

    /// Replaces all lines of a name by one, whose value may come from anywhere.
    ///
    /// - Parameters:
    ///   - name: the name.
    ///   - value: the value, without control bytes and outer white space (RFC 9110 §5.5).
    /// - Throws: `http_request_error` that names the field, and never shows its value.
    public mutating func set(_ name: HTTPFieldName, _ value: String) throws(NetworkError) {
        guard let field = HTTPField(name, value) else { throw HTTPHeaders.unfit(name.text) }
        set(field)
    }

    /// Adds a line after the others, whose value may come from anywhere.
    ///
    /// - Parameters:
    ///   - name: the name.
    ///   - value: the value, without control bytes and outer white space (RFC 9110 §5.5).
    /// - Throws: `http_request_error` that names the field, and never shows its value.
    public mutating func append(_ name: HTTPFieldName, _ value: String) throws(NetworkError) {
        guard let field = HTTPField(name, value) else { throw HTTPHeaders.unfit(name.text) }
        append(field)
    }

    /// The fields by name, in lower case; the values of a name that comes twice are joined with a
    /// comma (RFC 9110 §5.3), those of `Set-Cookie` with a line feed.
    public var dictionary: [String: String] {
        var result: [String: String] = [:]
        for field in self {
            let key = field.name.text.lowercased()
            let separator = field.name == .setCookie ? "\n" : ", "
            result[key] = result[key].map { $0 + separator + field.value } ?? field.value
        }
        return result
    }

    /// How long `Retry-After` asks to wait, in seconds or until a date (RFC 9110 §10.2.3); `nil`
    /// where it is missing or invalid.
    ///
    /// Never negative, and not limited: the caller decides how long it waits.
    ///
    /// - Parameter now: what a date counts from where the server does not say what time it has.
    /// - Returns: how long.
    public func retryAfter(now: UnixTime = SystemClock().wallNow) -> Duration? {
        RetryAfter.duration(in: self, now: now)
    }

    package static func field(_ name: String, _ value: String) throws(NetworkError) -> HTTPField {
        guard let known = HTTPFieldName(name) else { throw invalidName(name) }
        guard let field = HTTPField(known, value) else { throw unfit(name) }
        return field
    }

    package static func unfit(_ name: String) -> NetworkError {
        .unsendable("the value of the field \(name) holds control bytes or outer white space")
    }

    /// Checks that all fields can be sent.
    ///
    /// - Throws: `http_request_error` that names the first that cannot.
    package func checkFitness() throws(NetworkError) {
        guard let name = unfitField?.text else { return }
        throw HTTPFieldName(name) == nil ? HTTPHeaders.invalidName(name) : HTTPHeaders.unfit(name)
    }

    private static func invalidName(_ name: String) -> NetworkError {
        // On one line, and not at any length: it may be anything.
        let start = String(reflecting: String(name.prefix(40)))
        return .unsendable("invalid header name \(start): names are tokens (RFC 9110 §5.1)")
    }
}

/// Fields with values from anywhere: a request that has one with control bytes or outer white space is
/// refused when it is built or sent.
extension HTTPField {
    /// `Authorization: Bearer …` (RFC 6750 §2.1).
    public static func bearer(_ token: Secret) -> HTTPField {
        HTTPField(checking: .authorization, "Bearer \(token.reveal())")
    }

    /// `Authorization: Basic …`; it cannot be sent with a colon in the name, which would end there, or a
    /// control character in either (RFC 7617 §2), such as the newline at the end of a file.
    public static func basic(username: String, password: Secret) -> HTTPField {
        func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7F }
        guard !username.utf8.contains(UInt8(ascii: ":")), !username.utf8.contains(where: isControl),
            !password.reveal().utf8.contains(where: isControl)
        else { return HTTPField(unfit: .authorization) }
        return HTTPField(
            checking: .authorization,
            "Basic \(Base64.encode(Array("\(username):\(password.reveal())".utf8)))"
        )
    }

    /// `Authorization` as given, with its scheme.
    public static func authorization(_ credential: Secret) -> HTTPField {
        HTTPField(checking: .authorization, credential.reveal())
    }

    /// `Accept`, in the order of preference.
    public static func accept(_ types: String...) -> HTTPField {
        HTTPField(checking: .accept, types.joined(separator: ", "))
    }

    /// `Accept-Charset`, in the order of preference; servers may ignore it (RFC 9110 §12.5.2).
    public static func acceptCharset(_ charsets: String...) -> HTTPField {
        HTTPField(checking: "Accept-Charset", charsets.joined(separator: ", "))
    }

    /// `Accept-Encoding`, in the order of preference.
    ///
    /// Content arrives as it was coded: nothing here decodes it.
    public static func acceptEncoding(_ codings: String...) -> HTTPField {
        HTTPField(checking: .acceptEncoding, codings.joined(separator: ", "))
    }

    /// `Accept-Language`, in the order of preference.
    public static func acceptLanguage(_ languages: String...) -> HTTPField {
        HTTPField(checking: .acceptLanguage, languages.joined(separator: ", "))
    }

    /// `Content-Disposition`, with its parameters as they stand in the field (RFC 6266 §4).
    public static func contentDisposition(_ disposition: String) -> HTTPField {
        HTTPField(checking: .contentDisposition, disposition)
    }

    /// `Content-Type`.
    public static func contentType(_ type: String) -> HTTPField {
        HTTPField(checking: .contentType, type)
    }

    /// `User-Agent`.
    public static func userAgent(_ text: String) -> HTTPField {
        HTTPField(checking: .userAgent, text)
    }
}
