import FoundationEssentials
import NetproxyCryptography
public import NetworkCore

/// Encrypts token files with AES-256-GCM, so that a copy of the disk does not disclose the tokens.
///
/// A sealed file is a JSON object with the cipher and the key's fingerprint, which distinguishes
/// "sealed with another key" from "damaged". The name of the grant family is authenticated with the
/// ciphertext: a file renamed to another family does not open.
public struct TokenSeal: Sendable {
    private struct Key: Sendable {
        let bytes: [UInt8]
        let fingerprint: String

        init(_ text: Secret) throws(TokenSealError) {
            guard let data = Data(base64Encoded: text.reveal()), data.count == AESGCM.keyLength
            else { throw .key }
            bytes = Array(data)
            // Derived, so that the file reveals nothing about the key itself.
            let digest = SHA256.authenticationCode(
                of: Array("netproxy token file key".utf8),
                key: bytes
            )
            fingerprint = Base64URL.encode(digest.prefix(9))
        }
    }

    private let key: Key
    /// Keys that files may still be sealed with.
    private let earlier: [Key]

    /// Creates a seal with keys of 32 bytes in base64, as `openssl rand -base64 32` prints them.
    ///
    /// - Parameters:
    ///   - text: the key that seals.
    ///   - earlier: keys that open, too: files are sealed with the first one when they are next written.
    /// - Throws: `TokenSealError.key`.
    public init(base64 text: Secret, earlier: [Secret] = []) throws(TokenSealError) {
        key = try Key(text)
        var keys: [Key] = []
        for text in earlier { keys.append(try Key(text)) }
        self.earlier = keys
    }

    private struct Envelope: Codable {
        static let cipher = "AES-256-GCM"
        var sealed: String
        var key: String
        var data: Data
    }

    /// Encrypts the content of a file.
    ///
    /// - Throws: the error of the JSON encoder; not expected.
    package func seal(_ content: [UInt8], family: String) throws -> [UInt8] {
        let box = AESGCM.seal(content, key: key.bytes, authenticating: Array(family.utf8))
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        let envelope = Envelope(sealed: Envelope.cipher, key: key.fingerprint, data: Data(box))
        return Array(try encoder.encode(envelope))
    }

    /// Decrypts a file; an unsealed one is returned unchanged.
    ///
    /// - Parameters:
    ///   - file: the content of the file.
    ///   - family: the grant family whose file it is.
    ///   - seal: the configured key, if there is one.
    /// - Returns: the content before it was sealed.
    /// - Throws: `TokenSealError`; the file must then be left unchanged, since the key may be found.
    package static func open(
        _ file: [UInt8],
        family: String,
        with seal: TokenSeal?
    ) throws(TokenSealError) -> [UInt8] {
        let envelope: Envelope
        do {
            envelope = try JSONDecoder().decode(Envelope.self, from: Data(file))
        } catch {
            // Not sealed; the caller parses it.
            return file
        }
        guard let seal else { throw .noKey }
        guard envelope.sealed == Envelope.cipher,
            let key = ([seal.key] + seal.earlier).first(where: { $0.fingerprint == envelope.key })
        else { throw .otherKey }
        let box = Array(envelope.data)
        guard
            let content = AESGCM.open(box, key: key.bytes, authenticating: Array(family.utf8))
        else { throw .damaged }
        return content
    }
}

extension TokenSeal: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Never the key.
    public var description: String { "<seal>" }
    /// Never the key.
    public var debugDescription: String { "<seal>" }
    /// Without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The reason why a sealed file does not open, or a key is invalid.
@nonexhaustive
public enum TokenSealError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The text is not 32 bytes in base64.
    case key
    /// The file is sealed and no key is configured.
    case noKey
    /// The file was sealed with another key.
    case otherKey
    /// The file was changed, or belongs to another grant family.
    case damaged
    /// The content was not sealed, where everything is.
    case notSealed
    /// The content is of a later version.
    case unknownFormat

    /// One clause that names the remedy.
    public var description: String {
        switch self {
        case .key: "state_key is not 32 bytes in base64 (openssl rand -base64 32 makes one)"
        case .noKey: "it is sealed, but no state_key is configured; it is left unchanged"
        case .otherKey:
            "it is sealed with another state_key than the configured one; it is left unchanged"
        case .notSealed: "another program wrote it; it is left unchanged"
        case .unknownFormat: "a later netproxy version wrote it; it is left unchanged"
        case .damaged: "it was changed or renamed after it was sealed; it is left unchanged"
        }
    }
}
