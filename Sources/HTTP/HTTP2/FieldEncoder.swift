import NetproxyBytes
import NetproxyHTTPMessage

/// An HPACK encoder (RFC 7541).
///
/// nghttp2's encoder takes 20,000 instructions for a bearer token of 900 bytes in every request: it never
/// adds `Authorization` to the table, and always computes its Huffman code. This encoder adds a field to the
/// table when it repeats with the same value, so that a request of a channel takes about fifty bytes, and it
/// never uses Huffman codes. A credential short enough to be guessed is never added (RFC 7541 §7.1).
struct FieldEncoder {
    /// The maximum size of the table, in bytes: the size that every peer permits by default.
    static let largestTable = 4096

    private struct IndexedField {
        let hash: UInt64
        let bytes: [UInt8]
        let nameCount: Int

        /// The size of the entry in the table (RFC 7541 §4.1).
        var size: Int { bytes.count + 32 }
    }

    /// The entries, oldest first.
    private var entries: [IndexedField] = []
    private var size = 0
    private var capacity = FieldEncoder.largestTable
    /// The smallest capacity since the last block; `nil` if it has not changed.
    private var smallest: Int?
    /// The hash of the last field for each hash of a name.
    ///
    /// A hash collision wastes space in the table, and has no other effect.
    private var seen = [UInt64](repeating: 0, count: 64)

    // MARK: - The table

    /// Sets the size of the table that the peer permits.
    mutating func admit(_ limit: Int) {
        let next = min(limit, FieldEncoder.largestTable)
        guard next != capacity else { return }
        capacity = next
        smallest = min(smallest ?? next, next)
        evict(until: next)
    }

    private mutating func evict(until limit: Int) {
        var count = 0
        while size > limit, count < entries.count {
            size -= entries[count].size
            count += 1
        }
        if count > 0 { entries.removeFirst(count) }
    }

    private mutating func insert(_ name: Span<UInt8>, _ value: Span<UInt8>, _ hash: UInt64) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(name.count + value.count)
        bytes.append(name)
        bytes.append(value)
        let entry = IndexedField(hash: hash, bytes: bytes, nameCount: name.count)
        evict(until: capacity - entry.size)
        entries.append(entry)
        size += entry.size
    }

    /// Returns the index of a whole field in the table.
    private func index(
        _ hash: UInt64,
        _ name: Span<UInt8>,
        _ value: Span<UInt8>
    ) -> Int? {
        for position in entries.indices.reversed() where entries[position].hash == hash {
            let entry = entries[position]
            let bytes = entry.bytes.span
            guard entry.nameCount == name.count, bytes.count == name.count + value.count,
                bytes.extracting(0..<name.count).isSame(as: name),
                bytes.extracting(name.count..<bytes.count).isSame(as: value)
            else { continue }
            return StaticFields.count + entries.count - position
        }
        return nil
    }

    // MARK: - Blocks

    /// Begins a block.
    mutating func begin(_ output: OutputBuffer) {
        // RFC 7541 §4.2: first the smallest size, then the current one.
        guard let smallest else { return }
        self.smallest = nil
        if smallest < capacity { FieldEncoder.append(smallest, 5, 0x20, to: output) }
        FieldEncoder.append(capacity, 5, 0x20, to: output)
    }

    /// Writes a field with a name in lowercase.
    mutating func append(_ name: Span<UInt8>, _ value: Span<UInt8>, to output: OutputBuffer) {
        let nameHash = FieldEncoder.hash(name, 0)
        let hash = FieldEncoder.hash(value, nameHash)
        if let index = StaticFields.index(of: name, value, hash) ?? index(hash, name, value) {
            return FieldEncoder.append(index, 7, 0x80, to: output)
        }
        let nameIndex = StaticFields.index(of: name, nameHash) ?? 0
        let slot = Int(truncatingIfNeeded: nameHash & 63)
        let isRepeated = seen[slot] == hash
        seen[slot] = hash
        let isGuessable = value.count < 20 && FieldEncoder.isCredential(name)
        if isGuessable {
            FieldEncoder.append(nameIndex, 4, 0x10, to: output)
        } else if isRepeated, name.count + value.count + 32 <= capacity * 3 / 4 {
            insert(name, value, hash)
            FieldEncoder.append(nameIndex, 6, 0x40, to: output)
        } else {
            FieldEncoder.append(nameIndex, 4, 0, to: output)
        }
        if nameIndex == 0 { FieldEncoder.append(name, to: output) }
        FieldEncoder.append(value, to: output)
    }

    private static func isCredential(_ name: Span<UInt8>) -> Bool {
        switch name.count {
        case 6: name.isExactly("cookie")
        case 10: name.isExactly("set-cookie")
        case 13: name.isExactly("authorization")
        case 19: name.isExactly("proxy-authorization")
        default: false
        }
    }

    /// Writes a number with a prefix of the given number of bits (RFC 7541 §5.1).
    private static func append(
        _ number: Int,
        _ bits: Int,
        _ pattern: UInt8,
        to output: OutputBuffer
    ) {
        let most = (1 << bits) - 1
        guard number >= most else { return output.append(pattern | UInt8(number)) }
        output.append(pattern | UInt8(most))
        var rest = number - most
        while rest >= 128 {
            output.append(UInt8(rest & 127 | 128))
            rest >>= 7
        }
        output.append(UInt8(rest))
    }

    /// Writes a string without Huffman coding (RFC 7541 §5.2).
    private static func append(_ text: Span<UInt8>, to output: OutputBuffer) {
        append(text.count, 7, 0, to: output)
        output.append(text)
    }

    /// Returns the hash of the bytes, continued from another hash, eight bytes at a time.
    fileprivate static func hash(_ bytes: Span<UInt8>, _ seed: UInt64) -> UInt64 {
        bytes.hash(from: seed)
    }
}

/// The fields of the static table (RFC 7541, appendix A).
private enum StaticFields {
    static let count = 61

    private typealias Field = (name: StaticString, value: StaticString)

    private static let fields: [Field] = [
        (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"),
        (":path", "/index.html"), (":scheme", "http"), (":scheme", "https"), (":status", "200"),
        (":status", "204"), (":status", "206"), (":status", "304"), (":status", "400"),
        (":status", "404"), (":status", "500"), ("accept-charset", ""),
        ("accept-encoding", "gzip, deflate"), ("accept-language", ""), ("accept-ranges", ""),
        ("accept", ""), ("access-control-allow-origin", ""), ("age", ""), ("allow", ""),
        ("authorization", ""), ("cache-control", ""), ("content-disposition", ""),
        ("content-encoding", ""), ("content-language", ""), ("content-length", ""),
        ("content-location", ""), ("content-range", ""), ("content-type", ""), ("cookie", ""),
        ("date", ""), ("etag", ""), ("expect", ""), ("expires", ""), ("from", ""), ("host", ""),
        ("if-match", ""), ("if-modified-since", ""), ("if-none-match", ""), ("if-range", ""),
        ("if-unmodified-since", ""), ("last-modified", ""), ("link", ""), ("location", ""),
        ("max-forwards", ""), ("proxy-authenticate", ""), ("proxy-authorization", ""),
        ("range", ""), ("referer", ""), ("refresh", ""), ("retry-after", ""), ("server", ""),
        ("set-cookie", ""), ("strict-transport-security", ""), ("transfer-encoding", ""),
        ("user-agent", ""), ("vary", ""), ("via", ""), ("www-authenticate", ""),
    ]

    /// The hashes and indices, with open addressing.
    private static let table: [(hash: UInt64, index: Int)] = {
        var table = [(hash: UInt64, index: Int)](repeating: (0, 0), count: 256)
        func add(_ hash: UInt64, _ index: Int) {
            var slot = Int(truncatingIfNeeded: hash & 255)
            while table[slot].index > 0 {
                // The first index of a name is used.
                if table[slot].hash == hash { return }
                slot = (slot + 1) & 255
            }
            table[slot] = (hash, index)
        }
        for (offset, (name, value)) in fields.enumerated() {
            let nameHash = FieldEncoder.hash(bytes(name).span, 0)
            add(nameHash, offset + 1)
            // The hash of a whole field includes the value, which distinguishes it from the hash of a name.
            add(FieldEncoder.hash(bytes(value).span, nameHash), offset + 1)
        }
        return table
    }()

    private static func bytes(_ text: StaticString) -> [UInt8] {
        text.withUTF8Buffer { unsafe Array($0) }
    }

    /// Returns the first index of a field with this name, whose hash selects the candidates.
    static func index(of name: Span<UInt8>, _ hash: UInt64) -> Int? {
        index(hash) { Span(of: $0.name).isSame(as: name) }
    }

    /// Returns the index of a field, whose hash selects the candidates.
    static func index(of name: Span<UInt8>, _ value: Span<UInt8>, _ hash: UInt64) -> Int? {
        index(hash) { Span(of: $0.name).isSame(as: name) && Span(of: $0.value).isSame(as: value) }
    }

    /// Searches the table, and compares the bytes, since anyone can craft a field with the hash of another
    /// one.
    @inline(__always)
    private static func index(_ hash: UInt64, where isSame: (Field) -> Bool) -> Int? {
        var slot = Int(truncatingIfNeeded: hash & 255)
        while table[slot].index > 0 {
            let (candidate, index) = table[slot]
            if candidate == hash, isSame(fields[index - 1]) { return index }
            slot = (slot + 1) & 255
        }
        return nil
    }
}
