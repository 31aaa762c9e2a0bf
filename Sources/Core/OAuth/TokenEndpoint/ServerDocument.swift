import FoundationEssentials
package import NetworkCore

/// Reads a response of any endpoint of an authorization server: JSON, or a form if the media type says
/// so.
package enum ServerDocument {
    /// Returns the document; `nil` if the content is neither a JSON object nor such a form, or if a member
    /// of the form occurs twice or cannot be read.
    package static func read<Document: Decodable>(
        _ type: Document.Type,
        from body: ByteSlice,
        _ headers: HTTPHeaders = [:]
    ) -> Document? {
        do {
            return try JSONDecoder().decode(type, from: Data(body.array))
        } catch {
            // The decoder's error is dropped, because it may quote the content.
            return form(type, from: body, headers)
        }
    }

    private static func form<Document: Decodable>(
        _ type: Document.Type,
        from body: ByteSlice,
        _ headers: HTTPHeaders
    ) -> Document? {
        guard isForm(headers), let text = String(validating: body.array, as: UTF8.self),
            let members = FormDecoding.members(of: text), !members.isEmpty
        else { return nil }
        do {
            // By way of JSON, so that a document is described once: its readers take numbers as text.
            return try JSONDecoder().decode(type, from: JSONEncoder().encode(members))
        } catch {
            return nil
        }
    }

    private static func isForm(_ headers: HTTPHeaders) -> Bool {
        let type = headers[.contentType] ?? ""
        let essence = type.prefix { $0 != ";" && $0 != " " && $0 != "\t" }
        return Grammar.equalIgnoringCase(String(essence), "application/x-www-form-urlencoded")
    }

    /// Parses a number in a string: digits with an optional fraction and nothing else, so that
    /// "3600abc" is not an hour.
    static func seconds(_ text: String) -> Double? {
        let unsigned = text.hasPrefix("-") ? text.dropFirst() : text[...]
        let parts = unsigned.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count),
            parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy(Grammar.isDigit) })
        else { return nil }
        return Double(text)
    }

    /// Ten years: no token lives longer, and arithmetic cannot overflow.
    private static let longest = 315_360_000.0

    /// A lifetime, clamped.
    package static func lifetime(_ seconds: Double) -> Duration {
        .seconds(min(max(seconds, 0), longest))
    }
}

/// Lenient access to members: one of the wrong type counts as absent, and so does an empty string, as
/// in forms (RFC 6749 §3.2).
extension KeyedDecodingContainer {
    /// The value of a member, if it is a nonempty string.
    package func text(_ key: Key) -> String? {
        guard let text = try? decode(String.self, forKey: key), !text.isEmpty else { return nil }
        return text
    }

    /// A number of seconds, sent as a number or as a string.
    package func seconds(_ key: Key) -> Double? {
        if let number = try? decode(Double.self, forKey: key) { return number }
        return text(key).flatMap(ServerDocument.seconds)
    }
}
