import NetproxyCryptography
import NetworkCore

/// AWS Signature Version 4: the canonical form of a request, and the signature over it.
package struct SignatureV4: Sendable {
    private static let algorithm = "AWS4-HMAC-SHA256"

    /// The credentials to sign with.
    package let credentials: AWSCredentials
    /// The scope of the signature.
    package let scope: SigningScope

    /// Signs with these credentials, for one region and one service.
    package init(_ credentials: AWSCredentials, for scope: SigningScope) {
        (self.credentials, self.scope) = (credentials, scope)
    }

    /// Signs a request with its final target and fields, and adds `Authorization`.
    ///
    /// The signed fields are the host, the description of the content, and the fields of AWS, which no
    /// hop edits.
    ///
    /// - Parameters:
    ///   - request: the request, with `X-Amz-Date`.
    ///   - target: its target.
    ///   - authority: the value of `Host`.
    ///   - payload: the digest of the content, or the word instead of it.
    ///   - stamp: the time in `X-Amz-Date`.
    func sign(
        _ request: inout Request,
        _ target: StrictTarget,
        to authority: String,
        payload: String,
        at stamp: String
    ) {
        let fields = SignatureV4.signedFields(of: request.headers, authority)
        let canonical = SignatureV4.canonicalRequest(request.method, target, fields, payload)
        let names = fields.map(\.name).joined(separator: ";")
        let day = stamp.prefix(8)
        let value =
            "\(SignatureV4.algorithm) Credential=\(credentials.accessKeyID)/\(scope.text(on: day)), "
            + "SignedHeaders=\(names), Signature=\(signature(of: canonical, at: stamp))"
        request.headers.append(.authorization, validated: value)
    }

    /// The request as it is signed: method, path, query, fields, their names, and the content's digest.
    static func canonicalRequest(
        _ method: HTTPMethod,
        _ target: StrictTarget,
        _ fields: [(name: String, value: String)],
        _ payload: String
    ) -> String {
        var lines = [method.rawValue, target.canonicalPath, target.canonicalQuery]
        lines += fields.map { "\($0.name):\($0.value)" }
        lines += ["", fields.map(\.name).joined(separator: ";"), payload]
        return lines.joined(separator: "\n")
    }

    /// The signature in hexadecimal.
    func signature(of canonicalRequest: String, at stamp: String) -> String {
        let day = stamp.prefix(8)
        let text = [
            SignatureV4.algorithm, stamp, scope.text(on: day),
            SignatureV4.hexadecimal(SHA256.digest(of: canonicalRequest)),
        ].joined(separator: "\n")
        var key = Array("AWS4\(credentials.secretAccessKey.reveal())".utf8)
        for part in [String(day), scope.region, scope.service, "aws4_request", text] {
            key = SHA256.authenticationCode(of: Array(part.utf8), key: key)
        }
        return SignatureV4.hexadecimal(key)
    }

    /// The signed fields in the order of their names, each with all its values.
    private static func signedFields(
        of headers: HTTPHeaders,
        _ authority: String
    ) -> [(name: String, value: String)] {
        var fields: [String: [String]] = ["host": [authority]]
        for field in headers {
            let name = field.name.text.lowercased()
            guard name.hasPrefix("x-amz-") || name == "content-type" || name == "content-md5" else {
                continue
            }
            fields[name, default: []].append(squeezed(field.value))
        }
        return fields.sorted { $0.key < $1.key }
            .map { ($0.key, $0.value.joined(separator: ",")) }
    }

    /// A value with single blanks, and none at its ends.
    private static func squeezed(_ value: String) -> String {
        value.split { $0 == " " || $0 == "\t" }.joined(separator: " ")
    }

    /// The digits of bytes, in lower case.
    static func hexadecimal(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(2 * bytes.count)
        for byte in bytes {
            for digit in [byte >> 4, byte & 15] {
                text.append(digit < 10 ? digit + UInt8(ascii: "0") : digit - 10 + UInt8(ascii: "a"))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
