package import NetworkCore

/// The way to sign the content of a request.
///
/// | `X-Amz-Content-Sha256` of the app | S3 over TLS | S3 without TLS | any other service |
/// |---|---|---|---|
/// | a digest | as it is | as it is | as it is |
/// | `UNSIGNED-PAYLOAD` | as it is | hashed | hashed |
/// | `STREAMING-UNSIGNED-PAYLOAD-TRAILER` | as it is | as it is | as it is |
/// | any other `STREAMING-…` | refused | refused | refused |
/// | none, or another text | `UNSIGNED-PAYLOAD` | hashed | hashed |
package enum PayloadRule: Equatable {
    /// The app's word counts, and the content passes as it comes: the server verifies a digest.
    case stated(String)
    /// The content is not part of the signature; TLS protects it.
    case unsigned
    /// Its digest is computed here, so it is collected first.
    case hashed
    /// Each chunk carries a signature of the app's, by this scheme.
    case chunkSigned(String)

    /// The word instead of a digest.
    static let unsignedWord = "UNSIGNED-PAYLOAD"

    /// Finds the row of the table.
    ///
    /// - Parameters:
    ///   - values: those of `X-Amz-Content-Sha256`.
    ///   - scope: the service.
    ///   - scheme: how the request is sent.
    package init(_ values: [String], for scope: SigningScope, over scheme: Origin.Scheme) {
        let mayBeUnsigned = scope.isS3 && scheme == .https
        let value = values.count == 1 ? values[0] : ""
        if PayloadRule.isDigest(value) || value == "STREAMING-UNSIGNED-PAYLOAD-TRAILER" {
            self = .stated(value)
        } else if let scheme = values.first(where: { $0.uppercased().hasPrefix("STREAMING-") }) {
            self = .chunkSigned(scheme)
        } else {
            self = mayBeUnsigned ? .unsigned : .hashed
        }
    }

    private static func isDigest(_ text: String) -> Bool {
        text.utf8.count == 64
            && text.utf8.allSatisfy {
                Grammar.isDigit($0) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }
}
