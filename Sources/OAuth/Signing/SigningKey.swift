import Crypto
import CryptoExtras
import FoundationEssentials
public import NetworkCore

/// A private key that signs assertions (RFC 7515): RSA, P-256 or Ed25519.
///
/// No description of it shows the key.
public struct SigningKey: Sendable {
    /// The algorithm, by its name in a JOSE header (RFC 7518 §3.1, RFC 8037 §3.1).
    public enum Algorithm: String, Sendable, Hashable {
        /// RSA with SHA-256.
        case rs256 = "RS256"
        /// ECDSA with P-256 and SHA-256.
        case es256 = "ES256"
        /// Ed25519.
        case edDSA = "EdDSA"
    }

    private enum Key: Sendable {
        case rsa(_RSA.Signing.PrivateKey)
        case p256(P256.Signing.PrivateKey)
        case ed25519(Curve25519.Signing.PrivateKey)
    }

    private let key: Key

    /// The name under which the server knows the public key (`kid`); nothing leaves it out.
    public let id: String?

    /// Reads a private key in PEM: PKCS#8, PKCS#1 (RSA) or SEC1 (P-256).
    ///
    /// The key's kind decides the algorithm.
    ///
    /// - Parameters:
    ///   - pem: the text of the file; what stands around the key, such as parameters, is ignored.
    ///   - id: the name under which the server knows the public key.
    /// - Throws: `SigningKeyError`, whose words never hold a part of the key.
    public init(pem: Secret, id: String? = nil) throws(SigningKeyError) {
        let block = try PEMBlock(privateKeyIn: pem.reveal())
        self.id = id
        switch block.label {
        case "RSA PRIVATE KEY": key = .rsa(try SigningKey.rsa(block))
        case "EC PRIVATE KEY": key = .p256(try SigningKey.p256(block))
        case "ENCRYPTED PRIVATE KEY": throw .encrypted
        default: key = try SigningKey.anyKind(block)
        }
    }

    /// The algorithm that the key signs with.
    public var algorithm: Algorithm {
        switch key {
        case .rsa: .rs256
        case .p256: .es256
        case .ed25519: .edDSA
        }
    }

    /// The public key, in DER as SubjectPublicKeyInfo (RSA, P-256) or as its 32 bytes (Ed25519).
    package var publicKey: [UInt8] {
        switch key {
        case .rsa(let key): Array(key.publicKey.derRepresentation)
        case .p256(let key): Array(key.publicKey.derRepresentation)
        case .ed25519(let key): Array(key.publicKey.rawRepresentation)
        }
    }

    /// The public key as a JSON Web Key (RFC 7518 §6, RFC 8037 §2).
    var publicJWK: PublicJWK {
        switch key {
        case .rsa(let key):
            // Without a modulus there is no key that could have been read.
            let parts = try? key.publicKey.getKeyPrimitives()
            return PublicJWK([
                ("kty", "RSA"), ("n", Base64URL.encode(parts?.modulus ?? Data())),
                ("e", Base64URL.encode(parts?.publicExponent ?? Data())),
            ])
        case .p256(let key):
            let point = key.publicKey.rawRepresentation
            return PublicJWK([
                ("kty", "EC"), ("crv", "P-256"), ("x", Base64URL.encode(point.prefix(32))),
                ("y", Base64URL.encode(point.suffix(32))),
            ])
        case .ed25519(let key):
            return PublicJWK([
                ("kty", "OKP"), ("crv", "Ed25519"),
                ("x", Base64URL.encode(key.publicKey.rawRepresentation)),
            ])
        }
    }

    /// The signature of some bytes, in the form RFC 7518 §3 wants.
    ///
    /// - Throws: what the cryptography library throws; not to be expected of a key that was read.
    package func signature(of bytes: [UInt8]) throws -> [UInt8] {
        switch key {
        case .rsa(let key):
            return Array(
                try key.signature(for: SHA256.hash(data: bytes), padding: .insecurePKCS1v1_5)
                    .rawRepresentation
            )
        case .p256(let key):
            return Array(try key.signature(for: SHA256.hash(data: bytes)).rawRepresentation)
        case .ed25519(let key):
            return Array(try key.signature(for: Data(bytes)))
        }
    }

    /// PKCS#8 says what it holds; of its kinds these three are understood.
    private static func anyKind(_ block: PEMBlock) throws(SigningKeyError) -> Key {
        if let seed = block.ed25519Seed {
            do {
                return .ed25519(try Curve25519.Signing.PrivateKey(rawRepresentation: seed))
            } catch {
                throw .unusable
            }
        }
        do {
            return .p256(try p256(block))
        } catch {
            return .rsa(try rsa(block))
        }
    }

    private static func rsa(_ block: PEMBlock) throws(SigningKeyError) -> _RSA.Signing.PrivateKey {
        do {
            return try _RSA.Signing.PrivateKey(pemRepresentation: block.text)
        } catch {
            throw .unusable
        }
    }

    private static func p256(_ block: PEMBlock) throws(SigningKeyError) -> P256.Signing.PrivateKey {
        do {
            return try P256.Signing.PrivateKey(pemRepresentation: block.text)
        } catch {
            throw .unusable
        }
    }
}

extension SigningKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The algorithm and the key's name.
    public var description: String { "\(algorithm.rawValue) key \(id ?? "without a name")" }
    /// The same.
    public var debugDescription: String { description }
    /// Without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Why a text is no key to sign with.
public enum SigningKeyError: Error, Sendable, Hashable, CustomStringConvertible {
    /// There is no private key in PEM in it.
    case missing
    /// The key is protected by a passphrase.
    case encrypted
    /// The key cannot be read, or is of another kind or too short.
    case unusable
    /// The service account's file lacks what it should have.
    case serviceAccount

    /// One clause a person can act on.
    public var description: String {
        switch self {
        case .missing: "there is no private key in PEM in it"
        case .encrypted: "the key has a passphrase; write it without one (openssl pkey)"
        case .unusable: "the key is not RSA of 2048 bits or more, P-256 or Ed25519"
        case .serviceAccount:
            "it is no service account key: a JSON object with client_email, private_key and token_uri"
        }
    }
}
