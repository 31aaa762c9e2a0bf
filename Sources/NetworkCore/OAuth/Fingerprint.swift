/// A short mark by which a secret is recognised without being kept: FNV-1a over 64 bits.
///
/// It only tells whether a configured secret was changed; it protects nothing.
enum Fingerprint {
    static func of(_ text: String) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        return String(hash, radix: 16)
    }
}
