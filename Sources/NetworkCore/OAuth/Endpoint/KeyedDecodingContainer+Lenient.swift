/// What servers send in place of what they should: a member of the wrong type counts as absent.
extension KeyedDecodingContainer {
    /// The text of a member, if it is one.
    func text(_ key: Key) -> String? {
        try? decode(String.self, forKey: key)
    }

    /// A number of seconds, sent as a number or as text.
    func seconds(_ key: Key) -> Double? {
        if let number = try? decode(Double.self, forKey: key) { return number }
        return text(key).flatMap(TokenDocument.seconds)
    }
}
