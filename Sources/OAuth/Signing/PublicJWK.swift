import Crypto
import FoundationEssentials
import NetworkCore

/// A public key as a JSON Web Key (RFC 7517 §4), in the members that make its thumbprint and no
/// others.
struct PublicJWK: Sendable {
    /// The canonical text: members in the order of their names, without white space (RFC 7638 §3.3).
    let json: String

    /// Writes it; the values are base64url or short names, which need no escape.
    init(_ members: [(name: String, value: String)]) {
        let pairs = members.sorted { $0.name < $1.name }.map { "\"\($0.name)\":\"\($0.value)\"" }
        json = "{" + pairs.joined(separator: ",") + "}"
    }

    /// The key's name for everybody who knows the key: SHA-256 of the canonical text (RFC 7638).
    var thumbprint: String { Base64URL.encode(SHA256.hash(data: Data(json.utf8))) }
}
