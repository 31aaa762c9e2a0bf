/// Names and addresses of hosts as people write them.
enum HostText {
    /// Whether the text is a host name or an IPv4 address: labels of letters, digits, `-` and `_`.
    static func isName(_ text: some StringProtocol) -> Bool {
        guard (1...253).contains(text.utf8.count) else { return false }
        return text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
            (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
                && label.utf8.allSatisfy(isNameByte)
        }
    }

    /// Whether resolvers take the name for an IPv4 address although it has not four numbers: its last
    /// label is one, in digits or with `0x`.
    static func isShortAddress(_ name: String) -> Bool {
        guard let last = name.lowercased().split(separator: ".").last else { return false }
        let isNumber =
            last.hasPrefix("0x")
            ? last.dropFirst(2).allSatisfy(\.isHexDigit) : last.allSatisfy(\.isWholeNumber)
        return isNumber && bytes(ofIPv4: name) == nil
    }

    /// Whether the text is a name, `*.suffix` or, for everything, `*`.
    static func isPattern(_ text: String) -> Bool {
        text == "*" || isName(text.hasPrefix("*.") ? text.dropFirst(2) : text[...])
    }

    /// The eight groups of an IPv6 address without brackets; nil when it is none.
    static func groups(ofIPv6 text: some StringProtocol) -> [UInt16]? {
        let text = String(text)
        guard let gap = text.firstRange(of: "::") else {
            let groups = groupList(text)
            return groups?.count == 8 ? groups : nil
        }
        let before = text[..<gap.lowerBound]
        let after = text[gap.upperBound...]
        guard let head = before.isEmpty ? [] : groupList(String(before)),
            let tail = after.isEmpty ? [] : groupList(String(after)),
            head.count + tail.count < 8
        else { return nil }
        return head + Array(repeating: 0, count: 8 - head.count - tail.count) + tail
    }

    /// The four bytes of a dotted IPv4 address; nil when it is none, or has leading zeros.
    static func bytes(ofIPv4 text: some StringProtocol) -> [UInt8]? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let bytes = parts.compactMap { part -> UInt8? in
            guard part == "0" || part.first != "0" else { return nil }
            return WholeNumber.parse(part).flatMap(UInt8.init(exactly:))
        }
        return parts.count == 4 && bytes.count == 4 ? bytes : nil
    }

    /// Whether a connection to this host cannot leave the machine.
    ///
    /// `localhost` and every name below it are loopback by RFC 6761 §6.3.
    static func isLoopback(_ host: String) -> Bool {
        if let bytes = bytes(ofIPv4: host) { return bytes[0] == 127 }
        if let groups = groups(ofIPv6: host) {
            if groups.dropLast() == [0, 0, 0, 0, 0, 0, 0] { return groups[7] == 1 }
            return groups.prefix(6) == [0, 0, 0, 0, 0, 0xFFFF] && groups[6] >> 8 == 127
        }
        let name = host.lowercased()
        return name == "localhost" || name.hasSuffix(".localhost")
    }

    private static func groupList(_ text: String) -> [UInt16]? {
        var groups: [UInt16] = []
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            if index == parts.count - 1, let bytes = bytes(ofIPv4: part) {
                groups.append(UInt16(bytes[0]) << 8 | UInt16(bytes[1]))
                groups.append(UInt16(bytes[2]) << 8 | UInt16(bytes[3]))
            } else {
                guard (1...4).contains(part.utf8.count), part.allSatisfy(\.isHexDigit),
                    let group = UInt16(part, radix: 16)
                else { return nil }
                groups.append(group)
            }
        }
        return groups
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
