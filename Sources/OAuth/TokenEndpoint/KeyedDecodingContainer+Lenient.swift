/// What servers send in place of what they should: a member of the wrong type counts as absent, and
/// so does an empty text, as in forms (RFC 6749 §3.2).
extension KeyedDecodingContainer {
    /// The text of a member, if it is one.
    func text(_ key: Key) -> String? {
        guard let text = try? decode(String.self, forKey: key), !text.isEmpty else { return nil }
        return text
    }

    /// A number of seconds, sent as a number or as text.
    func seconds(_ key: Key) -> Double? {
        if let number = try? decode(Double.self, forKey: key) { return number }
        return text(key).flatMap(TokenDocument.seconds)
    }
}
