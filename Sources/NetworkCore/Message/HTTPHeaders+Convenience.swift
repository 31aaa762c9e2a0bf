import FoundationEssentials

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

    static func unfit(_ name: String) -> NetworkError {
        NetworkError(
            .httpRequestError,
            side: .downstream,
            retry: .safe,
            detail: "the value of the field \(name) holds control bytes or outer white space"
        )
    }
}

extension HTTPField {
    /// `Authorization: Bearer …` (RFC 6750 §2.1); nothing for a token that no field may hold.
    public static func bearer(_ token: Secret) -> HTTPField? {
        HTTPField(.authorization, "Bearer \(token.reveal())")
    }

    /// `Authorization: Basic …` (RFC 7617).
    public static func basic(username: String, password: Secret) -> HTTPField? {
        HTTPField(
            .authorization,
            "Basic \(Base64.encode(Array("\(username):\(password.reveal())".utf8)))"
        )
    }

    /// `Accept`, in the order of preference.
    public static func accept(_ types: String...) -> HTTPField? {
        HTTPField(.accept, types.joined(separator: ", "))
    }

    /// `Accept-Language`, in the order of preference.
    public static func acceptLanguage(_ languages: String...) -> HTTPField? {
        HTTPField(.acceptLanguage, languages.joined(separator: ", "))
    }

    /// `Content-Type`.
    public static func contentType(_ type: String) -> HTTPField? {
        HTTPField(.contentType, type)
    }

    /// `User-Agent`.
    public static func userAgent(_ text: String) -> HTTPField? {
        HTTPField(.userAgent, text)
    }
}
