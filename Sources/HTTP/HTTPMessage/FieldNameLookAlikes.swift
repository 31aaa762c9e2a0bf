import NetproxyBytes

/// Field names that some servers cannot tell apart.
///
/// CGI hands a program `HTTP_X_API_KEY` for `X-Api-Key` and `X_Api_Key` (RFC 3875 §4.1.18), and
/// lighttpd for `X.Api.Key` and `X~Api~Key` as well: it turns every byte that is not a letter or a
/// digit into `_`. A rule about a field holds for all of its spellings, or an app could pass it by
/// another one. Every rule asks here.
extension HTTPFieldName {
    /// Whether the names are equal, ignoring case, once every byte that is not a letter or a digit
    /// has become a hyphen; true for the name itself.
    package func looksLike(_ other: HTTPFieldName) -> Bool {
        // The names of known fields differ in more than their hyphens.
        if let known, let others = other.known { return known == others }
        return looksLike(other.text.utf8.span)
    }

    /// Whether the bytes, which must be a token, look like this name.
    package func looksLike(_ name: Span<UInt8>) -> Bool {
        let own = text.utf8.span
        guard own.count == name.count else { return false }
        for index in own.indices
        where HTTPFieldName.folded(own[index]) != HTTPFieldName.folded(name[index]) {
            return false
        }
        return true
    }

    /// Whether the bytes look like this name without being it.
    package func isImitated(by name: Span<UInt8>) -> Bool {
        looksLike(name) && !Grammar.equalIgnoringCase(text.utf8.span, name)
    }

    /// Whether a name has a byte other than letters, digits and hyphens: of two names that look
    /// alike and are not the same, at least one does.
    static func isUnusual(_ name: Span<UInt8>) -> Bool {
        for index in name.indices where !Grammar.isPlainNameByte(name[index]) { return true }
        return false
    }

    /// Whether another name may look like this one: not if it has only letters and digits.
    package var mayBeImitated: Bool {
        text.utf8.contains { !Grammar.isAlphanumeric($0) }
    }

    /// What names that look alike have in common: lower case, and `-` for all but letters and digits.
    package static func likeness(of name: some StringProtocol) -> String {
        String(decoding: name.utf8.map(folded), as: UTF8.self)
    }

    /// What a byte of a name may become on the way: a small letter, a digit or a hyphen.
    static func folded(_ byte: UInt8) -> UInt8 {
        Grammar.isAlphanumeric(byte) ? Grammar.lowercased(byte) : UInt8(ascii: "-")
    }
}

extension HTTPHeaders {
    /// Whether the field is present, in whatever spelling.
    package func contains(like name: HTTPFieldName) -> Bool {
        if contains(name) { return true }
        return mayHaveImitations(of: name) && contains { $0.name.looksLike(name) }
    }

    /// The values of all lines with this name, in whatever spelling.
    package func values(like name: HTTPFieldName) -> [String] {
        guard mayHaveImitations(of: name) else { return values(of: name) }
        return filter { $0.name.looksLike(name) }.map(\.value)
    }

    /// The first name in the section that looks like one of the given names, as it is spelled.
    package func firstName(like names: [HTTPFieldName]) -> String? {
        let lines = arena.lines
        for index in lines.indices {
            let name = arena.bytes(of: lines[index]).extracting(lines[index].name)
            if names.contains(where: { $0.looksLike(name) }) {
                return name.string(in: 0..<name.count)
            }
        }
        return nil
    }

    /// Removes all lines with this name, in whatever spelling.
    package mutating func removeAll(like name: HTTPFieldName) {
        remove(name)
        guard mayHaveImitations(of: name) else { return }
        if let known = KnownFieldTable.lookup(folding: name.text.utf8.span) { remove(known) }
        removeOthers { name.looksLike($0) }
    }

    /// Removes the lines that look like one of these names without being it.
    package mutating func removeImitations(of names: [HTTPFieldName]) {
        for name in names where mayHaveImitations(of: name) {
            if let known = KnownFieldTable.lookup(folding: name.text.utf8.span), known != name.known
            {
                remove(known)
            }
            removeOthers { name.isImitated(by: $0) }
        }
    }

    /// Removes the lines that look like one of these fields without being it.
    package mutating func removeImitations(of fields: KnownFieldSet) {
        guard hasUnusualNames else { return }
        removeOthers { name in
            KnownFieldTable.lookup(folding: name).map(fields.contains) ?? false
        }
    }

    private func mayHaveImitations(of name: HTTPFieldName) -> Bool {
        hasUnusualNames || name.isUnusual
    }
}
