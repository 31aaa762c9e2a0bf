import FoundationEssentials
import NetworkCore

/// One block of a PEM file (RFC 7468).
struct PEMBlock {
    /// The label, such as `PRIVATE KEY`.
    let label: String
    /// The block, from its first to its last line, with at most 64 characters in each.
    let text: String

    /// Finds the first private key.
    ///
    /// Keys that went through an environment file or a secret store have lost their lines: the block
    /// may stand on one line, spell its line ends `\\n`, or be in base64 as a whole.
    init(privateKeyIn file: String) throws(SigningKeyError) {
        var rest = PEMBlock.spelled(file)[...]
        while let begin = rest.firstRange(of: "-----BEGIN ") {
            rest = rest[begin.upperBound...]
            guard let dashes = rest.firstRange(of: "-----") else { break }
            let label = rest[..<dashes.lowerBound]
            rest = rest[dashes.upperBound...]
            guard label.hasSuffix("PRIVATE KEY"), !label.contains(where: \.isNewline) else {
                continue
            }
            guard let end = rest.firstRange(of: "-----END \(label)-----") else { break }
            let body = rest[..<end.lowerBound]
            // RFC 1421 §4.6.1.1: the header of an encrypted block.
            guard !body.contains("Proc-Type:") else { throw .encrypted }
            self.label = String(label)
            text = PEMBlock.text(label, body)
            return
        }
        throw .missing
    }

    /// The text with line ends instead of their spellings, and out of base64 if it is that.
    private static func spelled(_ file: String) -> String {
        if !file.contains("-----BEGIN "),
            let data = Data(base64Encoded: String(file.filter { !$0.isWhitespace })),
            let inner = String(validating: data, as: UTF8.self), inner.contains("-----BEGIN ")
        {
            return spelled(inner)
        }
        // Neither base64 nor a label has a backslash.
        return file.replacing("\\r", with: "").replacing("\\n", with: "\n")
    }

    private static func text(_ label: Substring, _ body: Substring) -> String {
        let base64 = body.filter { !$0.isWhitespace }
        var lines = ["-----BEGIN \(label)-----"]
        var start = base64.startIndex
        while start < base64.endIndex {
            let end =
                base64.index(start, offsetBy: 64, limitedBy: base64.endIndex) ?? base64.endIndex
            lines.append(String(base64[start..<end]))
            start = end
        }
        return (lines + ["-----END \(label)-----", ""]).joined(separator: "\n")
    }

    /// The seed of an Ed25519 key, if a PKCS#8 block holds one (RFC 8410 §7).
    ///
    /// OpenSSL 3.0 reads PKCS#8 of version 1 only, which has a fixed prefix; version 2 (RFC 5958) adds the
    /// public key after the seed.
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
