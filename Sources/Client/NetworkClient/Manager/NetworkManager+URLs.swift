public import FoundationEssentials

/// Calls with a URL; see the same methods for a `Request`.
extension NetworkManager {
    /// Sends a GET request for a URL and decodes the content of its response.
    ///
    /// - Throws: `NetworkError`.
    public func request<Value: Decodable & Sendable>(
        _ url: String,
        as type: Value.Type = Value.self,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> Value {
        try await request(try Request(url: url), as: type, options: options)
    }

    /// Sends a GET request for a URL and decodes the content of its response.
    ///
    /// - Throws: `NetworkError`.
    public func request<Value: Decodable & Sendable>(
        _ url: URL,
        as type: Value.Type = Value.self,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> Value {
        try await request(try Request(url: url), as: type, options: options)
    }

    /// Downloads the content of a URL into a file.
    ///
    /// - Throws: `NetworkError`.
    public func download(
        _ url: String,
        to path: String,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> DownloadedFile {
        try await download(try Request(url: url), to: path, options: options)
    }

    /// Downloads the content of a URL into a file.
    ///
    /// - Throws: `NetworkError`.
    public func download(
        _ url: URL,
        to path: String,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> DownloadedFile {
        try await download(try Request(url: url), to: path, options: options)
    }

    /// Downloads content into the file of a file URL, like `download(_:to:resuming:options:)` with its path.
    ///
    /// - Throws: `NetworkError`.
    public func download(
        _ request: Request,
        to file: URL,
        resuming resumePoint: ResumePoint? = nil,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> DownloadedFile {
        let path = file.path(percentEncoded: false)
        return try await download(request, to: path, resuming: resumePoint, options: options)
    }

    /// Downloads content into the file of a file URL, like `download(_:to:resuming:options:)` with its path.
    ///
    /// - Throws: `NetworkError`.
    public func download(
        _ endpoint: Item,
        to file: URL,
        resuming resumePoint: ResumePoint? = nil,
        options: CallOptions = CallOptions()
    ) async throws(NetworkError) -> DownloadedFile {
        let path = file.path(percentEncoded: false)
        return try await download(endpoint, to: path, resuming: resumePoint, options: options)
    }
}
