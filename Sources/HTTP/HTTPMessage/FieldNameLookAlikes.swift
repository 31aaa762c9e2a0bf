import NetproxyBytes

/// Field names that some servers cannot distinguish.
///
/// CGI passes both `X-Api-Key` and `X_Api_Key` to a program as `HTTP_X_API_KEY` (RFC 3875 §4.1.18). lighttpd
/// also does this for `X.Api.Key` and `X~Api~Key`: it replaces every byte that is not a letter or a digit
/// with `_`. A rule about a field therefore applies to all of its spellings; otherwise a client could bypass
/// it with another spelling. Every rule uses these functions.
extension HTTPFieldName {
    /// Whether the names are equal, ignoring case, after every byte except letters and digits is replaced by
    /// a hyphen.
    ///
    /// True for the name itself.
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

    /// Whether the bytes look like this name but differ from it.
    package func isImitated(by name: Span<UInt8>) -> Bool {
        looksLike(name) && !Grammar.equalIgnoringCase(text.utf8.span, name)
    }

    /// Whether a name has a byte other than letters, digits and hyphens.
    ///
    /// Of two different names that look alike, at least one has such a byte.
    static func isUnusual(_ name: Span<UInt8>) -> Bool {
        for index in name.indices where !Grammar.isPlainNameByte(name[index]) { return true }
        return false
    }

    /// Whether another name can look like this one; `false` if it has only letters and digits.
    package var mayBeImitated: Bool {
        text.utf8.contains { !Grammar.isAlphanumeric($0) }
    }

    /// Returns the common form of names that look alike: lowercase, with `-` for every byte except letters
    /// and digits.
    package static func likeness(of name: some StringProtocol) -> String {
        String(decoding: name.utf8.map(folded), as: UTF8.self)
    }

    /// Returns the form of a byte in `likeness(of:)`: a lowercase letter, a digit or a hyphen.
    static func folded(_ byte: UInt8) -> UInt8 {
        Grammar.isAlphanumeric(byte) ? Grammar.lowercased(byte) : UInt8(ascii: "-")
    }
}

extension HTTPHeaders {
    /// Whether the field is present, in any spelling.
    package func contains(like name: HTTPFieldName) -> Bool {
        if contains(name) { return true }
        return mayHaveImitations(of: name) && contains { $0.name.looksLike(name) }
    }

    /// Returns the values of all lines with this name, in any spelling.
    package func values(like name: HTTPFieldName) -> [String] {
        guard mayHaveImitations(of: name) else { return values(of: name) }
        return filter { $0.name.looksLike(name) }.map(\.value)
    }

    /// Returns the first name in the section that looks like one of the given names, as spelled in the
    /// section.
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

    /// Removes all lines with this name, in any spelling.
    package mutating func removeAll(like name: HTTPFieldName) {
        remove(name)
        guard mayHaveImitations(of: name) else { return }
        if let known = KnownFieldTable.lookup(folding: name.text.utf8.span) { remove(known) }
        removeOthers { name.looksLike($0) }
    }

    /// Removes the lines whose names look like one of these names but differ from it.
    package mutating func removeImitations(of names: [HTTPFieldName]) {
        for name in names where mayHaveImitations(of: name) {
            if let known = KnownFieldTable.lookup(folding: name.text.utf8.span), known != name.known
            {
                remove(known)
            }
            removeOthers { name.isImitated(by: $0) }
        }
    }

    /// Removes the lines whose names look like one of these fields but differ from it.
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
