import NetproxyBytes

extension Request {
    /// What a rendering says of the body.
    public enum ShownBody: Sendable, Hashable {
        /// Only that there is one.
        case hidden
        /// All of it, where it is in memory and text.
        case shown
    }

    /// The request as a curl command for a POSIX shell, without credentials.
    ///
    /// - Parameters:
    ///   - redaction: what is left out.
    ///   - shown: whether the body is shown; hidden unless asked for.
    /// - Returns: one line.
    public func curlCommand(
        redacting redaction: Redaction = .standard,
        body shown: ShownBody = .hidden
    ) -> String {
        // A target of `*` is for the server as a whole.
        let isAsterisk = target == "*"
        let url = isAsterisk ? "\(origin)" : "\(origin)\(redaction.target(target))"
        var words = ["curl"]
        words += CurlWords.method(method.rawValue, hasContent: body.length != 0)
        words += CurlWords.url(url, isAsterisk: isAsterisk)
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
