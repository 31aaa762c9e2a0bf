/// A file that was downloaded.
public struct DownloadedFile: Sendable {
    /// The path of the file.
    public let path: String
    /// The length, in bytes.
    public let length: Int
    /// The status of the last response: 200, 206, or 416 if the file was complete.
    public let status: HTTPStatus
    /// The fields of the last response.
    public let headers: HTTPHeaders
    /// The number of times that the download was interrupted and continued.
    public let resumptions: Int
}

extension NetworkManager {
    /// Downloads content into a file, which gets its name when it is complete.
    ///
    /// Until then `PATH.part` holds what came. A download that breaks off goes on by itself with
    /// `Range` and `If-Range` where the response had a strong entity tag or a date, as often as the
    /// channel says; what is thrown after that has a `resumePoint` to go on from later. If the
    /// content has changed in between, the download starts over (RFC 9110 §13.1.5, §14).
    ///
    /// - Parameters:
    ///   - endpoint: the operation; all of its content is asked for, so it must not set `Range`.
    ///   - path: where the file goes; one that is there is replaced, anything but a file refused.
    ///   - resumePoint: where an earlier download broke off.
    ///   - options: the call's differences from its channel; the timeout is for each head.
    /// - Returns: the downloaded file.
    /// - Throws: `NetworkError`; `http_request_error` when the file cannot be written, as while
    ///   another download writes it.
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
        var download = Download(path: path, resumePoint: resumePoint, call.options.progress)
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
