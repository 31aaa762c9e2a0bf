package import NetproxyCryptography
public import NetworkCore

/// A private key that signs assertions (RFC 7515): RSA, P-256 or Ed25519.
///
/// No description shows the key.
public struct SigningKey: Sendable {
    /// The algorithm, by its name in a JOSE header (RFC 7518 §3.1, RFC 8037 §3.1).
    public typealias Algorithm = SignatureAlgorithm

    private let key: PrivateKey

    /// The `kid` under which the server knows the public key; `nil` leaves it out.
    public let id: String?

    /// Parses a private key in PEM: PKCS#8, PKCS#1 (RSA) or SEC1 (P-256).
    ///
    /// The kind of the key determines the algorithm.
    ///
    /// - Parameters:
    ///   - pem: the text of the file; anything beside the key, such as parameters, is ignored.
    ///   - id: the `kid` under which the server knows the public key.
    /// - Throws: `SigningKeyError`, whose description never quotes the key.
    public init(pem: Secret, id: String? = nil) throws(SigningKeyError) {
        let block = try PEMBlock(privateKeyIn: pem.reveal())
        self.id = id
        guard block.label != "ENCRYPTED PRIVATE KEY" else { throw .encrypted }
        let found = block.ed25519Seed.map { PrivateKey(ed25519Seed: $0) }
        guard let key = found ?? PrivateKey(pem: block.text) else { throw .unusable }
        self.key = key
    }

    /// The algorithm that the key signs with.
    public var algorithm: Algorithm {
        switch key.kind {
        case .rsa: .rs256
        case .p256: .es256
        case .ed25519: .edDSA
        }
    }

    /// The public key.
    package var publicKey: PublicKey { key.publicKey }

    /// The public key as a JSON Web Key (RFC 7518 §6, RFC 8037 §2).
    var publicJWK: PublicJWK {
        let key = publicKey
        switch algorithm {
        case .rs256:
            return PublicJWK([
                ("kty", "RSA"), ("n", Base64URL.encode(key.modulus)),
                ("e", Base64URL.encode(key.exponent)),
            ])
        case .es256:
            let point = key.point
            return PublicJWK([
                ("kty", "EC"), ("crv", "P-256"), ("x", Base64URL.encode(point.prefix(32))),
                ("y", Base64URL.encode(point.suffix(32))),
            ])
        case .edDSA:
            return PublicJWK([
                ("kty", "OKP"), ("crv", "Ed25519"), ("x", Base64URL.encode(key.raw)),
            ])
        }
    }

    /// Signs bytes; the signature has the format of RFC 7518 §3.
    ///
    /// - Throws: `SigningKeyError.unusable`; not expected of a parsed key.
    package func signature(of bytes: [UInt8]) throws(SigningKeyError) -> [UInt8] {
        guard let signature = key.signature(of: bytes) else { throw .unusable }
        return signature
    }
}

extension SigningKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The algorithm and the key's id.
    public var description: String { "\(algorithm.rawValue) key \(id ?? "without a name")" }
    /// The description.
    public var debugDescription: String { description }
    /// Without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The reason why a text is not a usable signing key.
@nonexhaustive
public enum SigningKeyError: Error, Sendable, Hashable, CustomStringConvertible {
    /// It contains no PEM private key.
    case missing
    /// The key is encrypted with a passphrase.
    case encrypted
    /// The key cannot be parsed, is of another kind, or is too short.
    case unusable
    /// The file of a service account lacks a required member.
    case serviceAccount
    /// It is a file of another kind.
    case googleFile(GoogleFile)

    /// One clause that names the remedy.
    public var description: String {
        switch self {
        case .missing: "it contains no PEM private key"
        case .encrypted: "the key has a passphrase; write it without one (openssl pkey)"
        case .unusable: "the key is not RSA of 2048 bits or more, P-256 or Ed25519"
        case .serviceAccount:
            "it is not a JSON object with client_email, private_key and token_uri"
        case .googleFile(let file):
            "it is a file of the type \(file.rawValue), and the key of a service account (type "
                + "service_account) is expected; \(file.advice)"
        }
    }
}

/// A public key as a JSON Web Key (RFC 7517 §4), with only the members that its thumbprint covers.
struct PublicJWK: Sendable {
    /// The canonical text: members sorted by name, without white space (RFC 7638 §3.3).
    let json: String

    /// Creates a key; the values are base64url or short names, which need no escaping.
    init(_ members: [(name: String, value: String)]) {
        let pairs = members.sorted { $0.name < $1.name }.map { "\"\($0.name)\":\"\($0.value)\"" }
        json = "{" + pairs.joined(separator: ",") + "}"
    }

    /// The thumbprint: SHA-256 of the canonical text (RFC 7638).
    var thumbprint: String { Base64URL.encode(SHA256.digest(of: json)) }
}
