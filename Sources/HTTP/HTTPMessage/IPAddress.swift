import NetproxyBytes

/// An IP address, parsed from text.
package enum IPAddress: Sendable, Hashable {
    case v4(UInt32)
    case v6(UInt128)

    /// Parses `127.0.0.1`, or an IPv6 address without brackets.
    package init?(_ text: String) {
        if let octets = IPv4Address.octets(text.utf8.span) {
            self = .v4(octets)
        } else if let address = IPv6Address(text.utf8.span) {
            self = .v6(address.bits)
        } else {
            return nil
        }
    }

    /// The embedded IPv4 address of an IPv4-mapped address (RFC 4291 §2.5.5.2); any other address unchanged.
    package var unmapped: IPAddress {
        guard case .v6(let bits) = self, bits >> 32 == 0xFFFF else { return self }
        return .v4(UInt32(truncatingIfNeeded: bits))
    }

    /// Whether the address is in a network, that is, whether the first `length` bits are equal.
    package func isIn(_ network: IPAddress, length: Int) -> Bool {
        switch (self, network) {
        case (.v4(let address), .v4(let network)):
            guard (0...32).contains(length) else { return false }
            return length == 0 || (address ^ network) >> UInt32(32 - length) == 0
        case (.v6(let address), .v6(let network)):
            guard (0...128).contains(length) else { return false }
            return length == 0 || (address ^ network) >> UInt128(128 - length) == 0
        default: return false
        }
    }

    /// Whether the address is in 127.0.0.0/8, also IPv4-mapped (RFC 4291 §2.5.5.2), or is `::1`.
    package var isLoopback: Bool {
        switch self {
        case .v4(let octets): octets >> 24 == 127
        case .v6(let bits): bits == 1 || bits >> 24 == 0xFF_FF7F
        }
    }
}

/// The dotted form of an IPv4 address (RFC 3986 §3.2.2): four numbers without leading zeros.
enum IPv4Address {
    static func isValid(_ bytes: Span<UInt8>) -> Bool { octets(bytes) != nil }

    static func octets(_ bytes: Span<UInt8>) -> UInt32? {
        var address: UInt32 = 0
        var octet = 0
        var digits = 0
        var dots = 0
        for index in bytes.indices {
            let byte = bytes[index]
            if byte == UInt8(ascii: ".") {
                guard digits > 0, dots < 3 else { return nil }
                address = address << 8 | UInt32(octet)
                (octet, digits, dots) = (0, 0, dots + 1)
                continue
            }
            guard Grammar.isDigit(byte), digits == 0 || octet != 0 else { return nil }
            octet = octet * 10 + Int(byte & 15)
            digits += 1
            guard octet < 256 else { return nil }
        }
        return dots == 3 && digits > 0 ? address << 8 | UInt32(octet) : nil
    }

    /// Whether resolvers treat a label as a number: digits, or `0x` and hexadecimal digits.
    static func isNumber(_ label: Span<UInt8>) -> Bool {
        guard !label.isEmpty else { return false }
        let isHex = label.count >= 2 && label[0] == UInt8(ascii: "0") && label[1] | 0x20 == 0x78
        for index in (isHex ? 2 : 0)..<label.count {
            let isPart =
                isHex ? Grammar.hexValue(label[index]) != nil : Grammar.isDigit(label[index])
            guard isPart else { return false }
        }
        return true
    }
}

/// An IPv6 address of eight groups (RFC 4291 §2.2), without a zone.
struct IPv6Address: CustomStringConvertible {
    private var groups: InlineArray<8, UInt16>

    /// Parses an address without brackets.
    init?(_ bytes: Span<UInt8>) {
        guard (2...45).contains(bytes.count) else { return nil }
        var parsed = InlineArray<8, UInt16>(repeating: 0)
        var count = 0
        var gap: Int?
        var index = 0
        if bytes[0] == UInt8(ascii: ":") {
            guard bytes[1] == UInt8(ascii: ":") else { return nil }
            (gap, index) = (0, 2)
        }
        while index < bytes.count {
            let end = bytes.firstIndex(of: UInt8(ascii: ":"), from: index) ?? bytes.count
            let part = bytes.extracting(index..<end)
            if end == bytes.count, let address = IPv4Address.octets(part) {
                guard count <= 6 else { return nil }
                parsed[count] = UInt16(address >> 16)
                parsed[count + 1] = UInt16(address & 0xFFFF)
                count += 2
                break
            }
            guard count < 8, let group = IPv6Address.group(part) else { return nil }
            parsed[count] = group
            count += 1
            guard end < bytes.count else { break }
            index = end + 1
            guard index < bytes.count else { return nil }
            if bytes[index] == UInt8(ascii: ":") {
                guard gap == nil else { return nil }
                gap = count
                index += 1
            }
        }
        guard let gap else {
            guard count == 8 else { return nil }
            groups = parsed
            return
        }
        // "::" stands for at least one group of zeros.
        guard count < 8 else { return nil }
        groups = InlineArray<8, UInt16>(repeating: 0)
        for position in 0..<gap { groups[position] = parsed[position] }
        for position in gap..<count { groups[position + 8 - count] = parsed[position] }
    }

    /// The text form of RFC 5952: lowercase, with the longest run of zeros as `::`.
    var description: String {
        var best = 0..<0
        var start = 0
        while start < 8 {
            var end = start
            while end < 8, groups[end] == 0 { end += 1 }
            if end - start > max(best.count, 1) { best = start..<end }
            start = end + 1
        }
        var text = ""
        var position = 0
        while position < 8 {
            if !best.isEmpty, position == best.lowerBound {
                text += "::"
                position = best.upperBound
                continue
            }
            if !text.isEmpty, !text.hasSuffix(":") { text += ":" }
            text += String(groups[position], radix: 16)
            position += 1
        }
        return text
    }

    /// The groups as one number, the most significant first.
    var bits: UInt128 {
        var bits: UInt128 = 0
        for position in groups.indices { bits = bits << 16 | UInt128(groups[position]) }
        return bits
    }

    private static func group(_ part: Span<UInt8>) -> UInt16? {
        guard (1...4).contains(part.count) else { return nil }
        var value: UInt16 = 0
        for index in part.indices {
            guard let digit = Grammar.hexValue(part[index]) else { return nil }
            value = value << 4 | UInt16(digit)
        }
        return value
    }
}
