import NetproxyBytes

extension Request {
    /// The part of the body in a rendering.
    public enum ShownBody: Sendable, Hashable {
        /// Only that there is one.
        case hidden
        /// All of it, where it is in memory and text.
        case shown
    }

    /// The request as a curl command for a POSIX shell, without credentials.
    ///
    /// - Parameters:
    ///   - redaction: the omitted values.
    ///   - shown: whether the body is shown; hidden unless asked for.
    /// - Returns: one line.
    public func curlCommand(
        redacting redaction: Redaction = .standard,
        body shown: ShownBody = .hidden
    ) -> String {
        // `*` is the server as a whole.
        let isAsterisk = target == "*"
        let url = isAsterisk ? "\(origin)" : "\(origin)\(redaction.target(target))"
        var words = ["curl"]
        words +=
            body.length == 0
            ? CurlWords.method(method.rawValue) : CurlWords.methodWithContent(method.rawValue)
        words += CurlWords.url(url, isAsterisk ? .asterisk : .path)
        for field in headers {
            words += CurlWords.field(field.name.text, redaction.value(of: field))
        }
        switch body {
        case .empty, .tunnel: break
        case .bytes(let bytes):
            if shown == .shown, let text = Request.text(bytes) {
                words += ["--data-raw", CurlWords.quoted(text)]
            } else {
                words += ["--data-binary", "@-"]
            }
        case .stream: words += ["--data-binary", "@-"]
        }
        return words.joined(separator: " ")
    }

    /// Content as a shell can hold it: in UTF-8, and without NUL.
    private static func text(_ bytes: ByteSlice) -> String? {
        guard let text = String(validating: bytes.array, as: UTF8.self), !text.utf8.contains(0)
        else { return nil }
        return text
    }
}
