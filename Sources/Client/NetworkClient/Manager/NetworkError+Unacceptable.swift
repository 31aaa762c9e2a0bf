import FoundationEssentials

extension NetworkError {
    /// Keeps a response that is no success, with the beginning of its content.
    ///
    /// Cancelled, it keeps what came so far.
    static func unacceptable(_ response: Response, _ objection: String) async -> NetworkError {
        let (content, isTruncated) = await response.body.beginning(FailedResponse.contentLimit)
        var error = NetworkError(.unacceptableResponse, side: .upstream, detail: objection)
        error.response = FailedResponse(
            status: response.status,
            headers: response.headers,
            content: Data(content),
            isTruncated: isTruncated
        )
        error.retryAfter = response.headers.retryAfter()?.wholeSeconds
        return error
    }
}

extension HTTPBody {
    /// The first bytes, and whether there are more; the rest is given up.
    ///
    /// Content that cannot be read counts as more.
    fileprivate func beginning(_ limit: Int) async -> ([UInt8], Bool) {
        switch self {
        case .empty: return ([], false)
        case .tunnel:
            cancel()
            return ([], false)
        case .bytes(let bytes): return (bytes.prefix(limit).array, bytes.count > limit)
        case .stream(let source, _):
            var content: [UInt8] = []
            do {
                while let piece = try await source.next() {
                    let room = limit - content.count
                    content.append(piece.prefix(room).span)
                    if piece.count > room {
                        source.cancel()
                        return (content, true)
                    }
                }
                return (content, false)
            } catch {
                source.cancel()
                return (content, true)
            }
        }
    }
}
