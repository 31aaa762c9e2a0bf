import NetworkCore

/// The form of a request target that is sent and signed.
///
/// A server computes the signature from the decoded target, so both sides must agree on one spelling:
/// unreserved bytes stand for themselves, and every other byte is `%XX` in upper case. A target in that
/// form is sent byte for byte; of another one the query is respelled, and for S3 the path. Parameters
/// that carried the signature of a presigned URL are left out.
package struct StrictTarget {
    /// The target to send.
    package let text: String
    /// The path in the canonical request.
    package let canonicalPath: String
    /// The query in the canonical request: sorted by the encoded names, then by the values.
    package let canonicalQuery: String

    /// Respells a target, in origin-form or `*`.
    package init(_ target: String, for scope: SigningScope) {
        guard target != "*" else {
            // OPTIONS * has no path.
            (text, canonicalPath, canonicalQuery) = (target, "/", "")
            return
        }
        let parts = TargetPath(target)
        let path: String
        if scope.isS3 {
            path = StrictTarget.respelled(parts.path.utf8, of: .path)
            canonicalPath = path
        } else {
            path = String(parts.path)
            canonicalPath = StrictTarget.encoded(StrictTarget.normalized(path))
        }
        guard let query = parts.query else {
            (text, canonicalQuery) = (path, "")
            return
        }
        let parameters = StrictTarget.parameters(of: query)
        canonicalQuery = parameters.sorted { ($0.name, $0.value ?? "") < ($1.name, $1.value ?? "") }
            .map { "\($0.name)=\($0.value ?? "")" }.joined(separator: "&")
        let kept = parameters.map(\.text).joined(separator: "&")
        text = kept.isEmpty && !query.isEmpty ? path : "\(path)?\(kept)"
    }

    /// Whether a target is that of a presigned URL.
    static func isPresigned(_ target: String) -> Bool {
        guard let query = TargetPath(target).query else { return false }
        let names = query.split(separator: "&").map { piece in
            respelled(piece.prefix { $0 != "=" }.utf8, of: .query).lowercased()
        }
        return names.contains("x-amz-signature") || olderSignature.isSubset(of: names)
    }

    private struct Parameter {
        let name: String
        /// `nil` without `=`.
        let value: String?

        var text: String { value.map { "\(name)=\($0)" } ?? name }
    }

    /// The parameters of a presigned URL, by their names in lower case; one of `signs` tells it.
    private static let signatureNames: Set<String> = [
        "x-amz-algorithm", "x-amz-content-sha256", "x-amz-credential", "x-amz-date",
        "x-amz-expires", "x-amz-region-set", "x-amz-security-token", "x-amz-signature",
        "x-amz-signedheaders",
    ]
    private static let signs: Set<String> = ["x-amz-algorithm", "x-amz-signature"]
    /// The parameters of a URL presigned in the older way, which has both parameters of
    /// `olderSignature`.
    private static let olderNames = olderSignature.union(["expires", "x-amz-security-token"])
    private static let olderSignature: Set<String> = ["awsaccesskeyid", "signature"]

    private static func parameters(of query: Substring) -> [Parameter] {
        let all = query.utf8.split(separator: UInt8(ascii: "&")).map { piece in
            let equals = piece.firstIndex(of: UInt8(ascii: "="))
            return Parameter(
                name: respelled(piece[..<(equals ?? piece.endIndex)], of: .query),
                value: equals.map { respelled(piece[piece.index(after: $0)...], of: .query) }
            )
        }
        let names = Set(all.map { $0.name.lowercased() })
        // Without a signature they are parameters like any other.
        var dropped: Set<String> = []
        if !names.isDisjoint(with: signs) { dropped.formUnion(signatureNames) }
        if olderSignature.isSubset(of: names) { dropped.formUnion(olderNames) }
        guard !dropped.isEmpty else { return all }
        return all.filter { !dropped.contains($0.name.lowercased()) }
    }

    /// The parts of a target, which differ in the meaning of `/` and `+`.
    private enum Part {
        case path
        case query
    }

    /// Returns the only spelling of the decoded text; `%` without two digits stands for itself.
    private static func respelled(_ text: Substring.UTF8View, of part: Part) -> String {
        var result: [UInt8] = []
        var rest = text[...]
        while var byte = rest.popFirst() {
            var isEscaped = false
            if byte == UInt8(ascii: "%"), let high = rest.first.flatMap(Grammar.hexValue),
                let low = rest.dropFirst().first.flatMap(Grammar.hexValue)
            {
                byte = high << 4 | low
                isEscaped = true
                rest = rest.dropFirst(2)
            } else if byte == UInt8(ascii: "+"), part == .query {
                // Forms write a blank like this.
                byte = UInt8(ascii: " ")
            }
            let isSlash = byte == UInt8(ascii: "/") && part == .path && !isEscaped
            if isSlash || PercentEncoding.isUnreserved(byte) {
                result.append(byte)
            } else {
                appendEscaped(byte, to: &result)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// A path without dot segments and empty ones; a slash at its end stays.
    private static func normalized(_ path: String) -> String {
        var segments: [Substring] = []
        for segment in path.split(separator: "/") where segment != "." {
            if segment != ".." { segments.append(segment) } else { _ = segments.popLast() }
        }
        let end = path.hasSuffix("/") && !segments.isEmpty ? "/" : ""
        return "/" + segments.joined(separator: "/") + end
    }

    /// A path as it was sent, encoded once more.
    private static func encoded(_ path: String) -> String {
        PercentEncoding.encode(path) { PercentEncoding.isUnreserved($0) || $0 == UInt8(ascii: "/") }
    }

    private static func appendEscaped(_ byte: UInt8, to result: inout [UInt8]) {
        result.append(UInt8(ascii: "%"))
        for digit in [byte >> 4, byte & 15] {
            result.append(digit < 10 ? digit + UInt8(ascii: "0") : digit - 10 + UInt8(ascii: "A"))
        }
    }
}
