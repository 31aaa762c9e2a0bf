import FoundationEssentials
import NetworkCore

/// One block of a PEM file (RFC 7468).
struct PEMBlock {
    /// The label, such as `PRIVATE KEY`.
    let label: String
    /// The block, from its first to its last line.
    let text: String

    /// Finds the first private key.
    init(privateKeyIn file: String) throws(SigningKeyError) {
        let lines = file.split(whereSeparator: \.isNewline).map { line in
            String(line.filter { !$0.isWhitespace || $0 == " " })
        }
        guard
            let first = lines.firstIndex(where: {
                $0.hasPrefix("-----BEGIN ") && $0.hasSuffix("PRIVATE KEY-----")
            })
        else { throw .missing }
        label = String(lines[first].dropFirst(11).dropLast(5))
        guard let last = lines[first...].firstIndex(of: "-----END \(label)-----") else {
            throw .missing
        }
        text = lines[first...last].joined(separator: "\n") + "\n"
    }

    /// The seed of an Ed25519 key, if a PKCS#8 block holds one (RFC 8410 §7).
    ///
    /// The cryptography library reads such keys as raw bytes only. PKCS#8 version 1 has a fixed prefix;
    /// version 2 adds the public key after the seed.
    var ed25519Seed: [UInt8]? {
        let body = text.split(separator: "\n").dropFirst().dropLast().joined()
        guard label == "PRIVATE KEY", let der = Data(base64Encoded: body).map(Array.init),
            der.count >= 48, der[0] == 0x30, Int(der[1]) == der.count - 2,
            [0x02, 0x01, 0x00] == der[2..<5] || [0x02, 0x01, 0x01] == der[2..<5],
            // AlgorithmIdentifier 1.3.101.112, then an OCTET STRING in an OCTET STRING.
            [0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20] == der[5..<16]
        else { return nil }
        return Array(der[16..<48])
    }
}
