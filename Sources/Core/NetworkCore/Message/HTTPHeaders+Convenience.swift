import FoundationEssentials
import NetproxyBytes

extension HTTPHeaders {
    /// Creates a field section from untrusted values.
    ///
    /// - Throws: `http_request_error` with the name of the field whose value is not valid.
    public init(validating fields: KeyValuePairs<HTTPFieldName, String>) throws(NetworkError) {
        self.init()
        for (name, value) in fields {
            guard let field = HTTPField(name, value) else { throw HTTPHeaders.unfit(name.text) }
            append(field)
        }
    }

    /// Replaces all lines of a field by one with an untrusted name and value.
    ///
    /// - Parameters:
    ///   - name: the name, a token (RFC 9110 §5.1).
    ///   - value: the value, without control bytes and outer white space (RFC 9110 §5.5).
    /// - Throws: `http_request_error` with the name of the field, without its value.
    public mutating func set(_ name: String, _ value: String) throws(NetworkError) {
        set(try HTTPHeaders.field(name, value))
    }

    /// Appends a line with an untrusted name and value.
    ///
    /// - Parameters:
    ///   - name: the name, a token (RFC 9110 §5.1).
    ///   - value: the value, without control bytes and outer white space (RFC 9110 §5.5).
    /// - Throws: `http_request_error` with the name of the field, without its value.
    public mutating func append(_ name: String, _ value: String) throws(NetworkError) {
        append(try HTTPHeaders.field(name, value))
    }

    /// Replaces all lines of a field by one with an untrusted value.
    ///
    /// - Parameters:
    ///   - name: the name.
    ///   - value: the value, without control bytes and outer white space (RFC 9110 §5.5).
    /// - Throws: `http_request_error` with the name of the field, without its value.
    public mutating func set(_ name: HTTPFieldName, _ value: String) throws(NetworkError) {
        guard let field = HTTPField(name, value) else { throw HTTPHeaders.unfit(name.text) }
        set(field)
    }

    /// Appends a line with an untrusted value.
    ///
    /// - Parameters:
    ///   - name: the name.
    ///   - value: the value, without control bytes and outer white space (RFC 9110 §5.5).
    /// - Throws: `http_request_error` with the name of the field, without its value.
    public mutating func append(_ name: HTTPFieldName, _ value: String) throws(NetworkError) {
        guard let field = HTTPField(name, value) else { throw HTTPHeaders.unfit(name.text) }
        append(field)
    }

    /// The fields by name, in lower case.
    ///
    /// Repeated values are joined with a comma (RFC 9110 §5.3), those of `Set-Cookie` with a line feed.
    public var dictionary: [String: String] {
        var result: [String: String] = [:]
        for field in self {
            let key = field.name.text.lowercased()
            let separator = field.name == .setCookie ? "\n" : ", "
            result[key] = result[key].map { $0 + separator + field.value } ?? field.value
        }
        return result
    }

    /// Returns the delay in `Retry-After`, in seconds or until a date (RFC 9110 §10.2.3); `nil` if missing or
    /// invalid.
    ///
    /// It is never negative and has no upper limit; the caller decides how long to wait.
    ///
    /// - Parameter now: the start of the delay until a date, if the response has no `Date`.
    /// - Returns: the delay.
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
    /// - Throws: `http_request_error` with the name of the first invalid field.
    package func checkFitness() throws(NetworkError) {
        guard let name = unfitField?.text else { return }
        throw HTTPFieldName(name) == nil ? HTTPHeaders.invalidName(name) : HTTPHeaders.unfit(name)
    }

    private static func invalidName(_ name: String) -> NetworkError {
        // The name is untrusted, so escape and truncate it.
        let start = String(reflecting: String(name.prefix(40)))
        return .unsendable("invalid header name \(start): names are tokens (RFC 9110 §5.1)")
    }
}

/// Fields with untrusted values.
///
/// A request is refused when it is built or sent if a value has control bytes or outer white space.
extension HTTPField {
    /// Returns `Authorization: Bearer …` (RFC 6750 §2.1).
    public static func bearer(_ token: Secret) -> HTTPField {
        HTTPField(checking: .authorization, "Bearer \(token.reveal())")
    }

    /// Returns `Authorization: Basic …` (RFC 7617 §2).
    ///
    /// The field cannot be sent if the name contains a colon, which would end it, or if either part contains
    /// a control
    /// character, such as the newline at the end of a file.
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

    /// Returns `Authorization` with an unchanged value, including its scheme.
    public static func authorization(_ credential: Secret) -> HTTPField {
        HTTPField(checking: .authorization, credential.reveal())
    }

    /// Returns `Accept`, in order of preference.
    public static func accept(_ types: String...) -> HTTPField {
        HTTPField(checking: .accept, types.joined(separator: ", "))
    }

    /// Returns `Accept-Charset`, in order of preference; servers may ignore it (RFC 9110 §12.5.2).
    public static func acceptCharset(_ charsets: String...) -> HTTPField {
        HTTPField(checking: "Accept-Charset", charsets.joined(separator: ", "))
    }

    /// Returns `Accept-Encoding`, in order of preference.
    ///
    /// The content is returned without decoding.
    public static func acceptEncoding(_ codings: String...) -> HTTPField {
        HTTPField(checking: .acceptEncoding, codings.joined(separator: ", "))
    }

    /// Returns `Accept-Language`, in order of preference.
    public static func acceptLanguage(_ languages: String...) -> HTTPField {
        HTTPField(checking: .acceptLanguage, languages.joined(separator: ", "))
    }

    /// Returns `Content-Disposition` with an unchanged value, including its parameters (RFC 6266 §4).
    public static func contentDisposition(_ disposition: String) -> HTTPField {
        HTTPField(checking: .contentDisposition, disposition)
    }

    /// Returns `Content-Type`.
    public static func contentType(_ type: String) -> HTTPField {
        HTTPField(checking: .contentType, type)
    }

    /// Returns `User-Agent`.
    public static func userAgent(_ text: String) -> HTTPField {
        HTTPField(checking: .userAgent, text)
    }
}
