package import NetproxyBytes
package import NetproxyHTTPMessage
import NetproxyInflation

/// Decodes content that is in memory (RFC 9110 §8.4).
package enum ContentInflation {
    /// The maximum number of decoded codings; well-behaved servers use one.
    private static let codingLimit = 3

    /// Returns content without its codings, of at most `limit` bytes.
    ///
    /// - Throws: `NetworkError` for a coding other than gzip and deflate, for malformed content, and for
    ///   content that is too long.
    package static func decode(
        _ content: ByteSlice,
        _ headers: HTTPHeaders,
        upTo limit: Int
    ) throws(NetworkError) -> ByteSlice {
        guard headers.contains(HTTPFieldName.contentEncoding), !content.isEmpty else {
            return content
        }
        let names = codings(headers)
        guard names.count <= codingLimit else {
            throw fault("the content has \(names.count) codings, more than \(codingLimit)")
        }
        var content = content
        for name in names.reversed() {
            guard var decompressor = Decompressor(inflating: name) else {
                throw fault(
                    "the content has the coding \(name), and only gzip and deflate are decoded"
                )
            }
            do {
                let decoded = try inflate(content, by: &decompressor, upTo: limit)
                guard decoded.count <= limit else {
                    throw fault("the decoded content is longer than \(limit) bytes")
                }
                try decompressor.finish()
                content = decoded
            } catch let error as Decompressor.Fault {
                throw fault(error.reason)
            } catch let error as NetworkError {
                throw error
            } catch {
                throw fault("the content cannot be decoded")
            }
        }
        return content
    }

    /// Returns the part of the beginning of content that can be decoded, of about `limit` bytes; `nil` for
    /// a coding other than gzip and deflate, and for malformed content.
    package static func beginning(
        of content: ByteSlice,
        _ headers: HTTPHeaders,
        upTo limit: Int
    ) -> ByteSlice? {
        var content = content
        for name in codings(headers).prefix(codingLimit).reversed() {
            guard var decompressor = Decompressor(inflating: name),
                let decoded = try? inflate(content, by: &decompressor, upTo: limit)
            else { return nil }
            content = decoded
        }
        return content
    }

    /// Whether content with this `Content-Encoding` can be decoded.
    package static func isDecodable(_ contentEncoding: String) -> Bool {
        contentEncoding.split(separator: ",").allSatisfy { part in
            let name = part.filter { $0 != " " && $0 != "\t" }.lowercased()
            return ["identity", "gzip", "x-gzip", "deflate"].contains(name)
        }
    }

    /// Removes the codings that cannot be decoded from `Accept-Encoding` (RFC 9110 §12.5.3).
    package static func restrict(_ headers: inout HTTPHeaders) {
        guard headers.contains(HTTPFieldName.acceptEncoding) else { return }
        let accepted = headers.elements(of: .acceptEncoding)
        let kept = accepted.filter { element in
            isDecodable(String(element.prefix { $0 != ";" }))
        }
        guard kept.count < accepted.count else { return }
        headers.remove(HTTPFieldName.acceptEncoding)
        let value = kept.isEmpty ? "identity" : kept.joined(separator: ", ")
        headers.append(.acceptEncoding, validated: value)
    }

    private static func codings(_ headers: HTTPHeaders) -> [Substring] {
        headers.elements(of: .contentEncoding).filter { $0.lowercased() != "identity" }
    }

    /// Returns the decoded content, or the part of it that exceeds the limit with its last piece.
    private static func inflate(
        _ content: ByteSlice,
        by decompressor: inout Decompressor,
        upTo limit: Int
    ) throws(Decompressor.Fault) -> ByteSlice {
        var input = content
        var decoded: [UInt8] = []
        while decoded.count <= limit, let piece = try decompressor.next(from: &input) {
            decoded.append(contentsOf: piece.array)
        }
        return ByteSlice(decoded)
    }

    private static func fault(_ reason: String) -> NetworkError {
        NetworkError(.httpResponseContentCoding, side: .upstream, detail: reason)
    }
}
