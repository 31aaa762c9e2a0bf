import FoundationEssentials

extension NetworkError {
    /// Returns the error for an unsuccessful response, with the beginning of its content.
    ///
    /// If the task is canceled, the error contains the content received so far.
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
    /// Returns the first bytes, and whether there are more; discards the rest.
    ///
    /// Content that cannot be read counts as longer.
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

extension NetworkError {
    /// The error as the caller of a method sees it: a canceled call was canceled by the caller.
    var seenByCaller: NetworkError {
        guard kind == .cancelled else { return self }
        var error = NetworkError.cancelled
        (error.source, error.response, error.resumePoint) = (source, response, resumePoint)
        return error
    }

    /// Returns the error for a response that a missing credential caused, with the response; this error
    /// without a lack.
    func because(of lack: NetworkError?) -> NetworkError {
        guard var error = lack else { return self }
        error.response = response
        error.underlying = error.underlying ?? lack
        return error
    }
}
