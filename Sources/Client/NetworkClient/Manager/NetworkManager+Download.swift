/// A downloaded file.
public struct DownloadedFile: Sendable {
    /// The path of the file.
    public let path: String
    /// The length, in bytes.
    public let length: Int
    /// The status of the last response: 200, 206, or 416 if the file was complete.
    public let status: HTTPStatus
    /// The fields of the last response.
    public let headers: HTTPHeaders
    /// The number of times the download was interrupted and resumed.
    public let resumptions: Int
}

extension NetworkManager {
    /// Downloads content into a file, which gets its name when it is complete.
    ///
    /// Until then, `PATH.part` contains the received part. If the download is interrupted and the response
    /// had a
    /// strong entity tag or a date, it resumes with `Range` and `If-Range`, up to the limit of the channel;
    /// the final
    /// error has a `resumePoint` for a later call. If the content has changed in between, the download starts
    /// over
    /// (RFC 9110 §13.1.5, §14).
    ///
    /// - Parameters:
    ///   - endpoint: the operation, which must not set `Range`, because the whole content is requested.
    ///   - path: the path of the file; an existing regular file is replaced, anything else is refused.
    ///   - resumePoint: the resume point of an earlier download.
    ///   - options: the settings of the call that differ from its channel; the timeout applies to each head.
    /// - Returns: the downloaded file.
    /// - Throws: `NetworkError`; `http_request_error` if the file cannot be written, for example while
    ///   another
    ///   download writes it.
    public func download(
        _ endpoint: Item,
        to path: String,
        resuming resumePoint: ResumePoint? = nil,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> DownloadedFile {
        try await pipeline.download(
            try pipeline.call(endpoint, options),
            to: path,
            resuming: resumePoint
        )
    }
}

extension CallPipeline {
    /// Downloads the content of a call into a file.
    func download(
        _ call: NetworkCall,
        to path: String,
        resuming resumePoint: ResumePoint?
    ) async throws(NetworkError) -> DownloadedFile {
        var download = Download(path: path, resumePoint: resumePoint, call.options.receiveReport)
        try download.checkPlace()
        var resumptions = 0
        while true {
            do throws(NetworkError) {
                let (response, exchange) = try await head(download.next(call))
                let kept = download.kept(by: response)
                do throws(NetworkError) {
                    try await download.take(response)
                } catch {
                    reportEnd(exchange, max(download.received - kept, 0), error)
                    throw error
                }
                reportEnd(exchange, download.received - kept, nil)
                return DownloadedFile(
                    path: path,
                    length: download.received,
                    status: response.status,
                    headers: response.headers,
                    resumptions: resumptions
                )
            } catch {
                guard download.mayGoOn(after: error), resumptions < channel.downloadResumptions
                else { throw download.closing(error).asking(call.request) }
                resumptions += 1
            }
        }
    }
}
