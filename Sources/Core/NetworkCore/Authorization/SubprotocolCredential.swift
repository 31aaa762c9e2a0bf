import NetproxyBytes

/// Credentials among the subprotocols of a WebSocket, where clients that cannot set a field put them.
package enum SubprotocolCredential {
    package static let field: HTTPFieldName = "Sec-WebSocket-Protocol"
    /// The texts before a credential: of OpenAI, of Kubernetes (then base64url), and of others.
    private static let prefixes = [
        "openai-insecure-api-key.", "base64url.bearer.authorization.",
        "base64.bearer.authorization.",
        "authorization.bearer.", "bearer.", "token.",
    ]
    /// The elements whose next element is a credential.
    private static let announcements: Set<String> = [
        "bearer", "token", "access_token", "access-token", "authorization", "auth", "jwt",
        "api-key",
        "apikey", "api_key", "x-api-key",
    ]

    /// Whether a request has a credential there.
    static func isPresent(in headers: HTTPHeaders) -> Bool {
        guard headers.contains(field) else { return false }
        let elements = headers.elements(of: field)
        return elements.indices.contains { isCredential($0, of: elements) }
    }

    /// Removes the credentials; the other elements stay.
    static func remove(from headers: inout HTTPHeaders) {
        guard headers.contains(field) else { return }
        let elements = headers.elements(of: field)
        let kept = elements.indices.filter { !isCredential($0, of: elements) }.map { elements[$0] }
        guard kept.count < elements.count else { return }
        headers.remove(field)
        if !kept.isEmpty { headers.append(field, validated: kept.joined(separator: ", ")) }
    }

    private static func isCredential(_ index: Int, of elements: [Substring]) -> Bool {
        let element = elements[index].lowercased()
        return prefixes.contains(where: element.hasPrefix)
            || index > 0 && announcements.contains(elements[index - 1].lowercased())
    }

    /// Returns the texts in an element that may be a credential: the element, each part after a dot, and that
    /// part without base64url.
    package static func texts(in element: Substring) -> [String] {
        var texts = [String(element)]
        for dot in element.indices where element[dot] == "." {
            texts.append(String(element[element.index(after: dot)...]))
        }
        return texts.flatMap { text in
            [text, PercentEncoding.decodedSegment(text[...]), decoded(text)].compactMap { $0 }
        }
    }

    private static func decoded(_ text: String) -> String? {
        let text = text.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        return Base64.decode(text + padding).map { String(decoding: $0, as: UTF8.self) }
    }
}
