import NetproxySystem

/// The state of one download: the received part, its file, and the condition for the rest.
struct Download {
    private let path: String
    private let partialPath: String
    private let progress: (@Sendable (TransferProgress) -> Void)?
    private var validator: String?
    /// The total length, if a response in this process has contained it.
    private var total: Int?
    private(set) var received = 0
    /// Whether the last attempt received anything; without progress, the download is not resumed.
    private(set) var hasProgressed = false
    /// Whether the received part is useless because the content has changed, so that the download starts
    /// over.
    private(set) var beginsAnew = false
    /// Whether the partial file belongs to this download, which must remove it.
    private var hasFile = false

    init(
        path: String,
        resumePoint: ResumePoint?,
        _ progress: (@Sendable (TransferProgress) -> Void)?
    ) {
        self.path = path
        self.progress = progress
        partialPath = resumePoint?.partialPath ?? "\(path).part"
        guard let resumePoint, Download.isThere(resumePoint) else { return }
        received = resumePoint.received
        validator = resumePoint.validator
        hasFile = true
    }

    /// Whether the file still contains the received part; temporary files may disappear.
    private static func isThere(_ point: ResumePoint) -> Bool {
        do throws(FileError) {
            return try FileStatus.of(path: point.partialPath).size >= point.received
        } catch {
            return false
        }
    }

    /// Refuses a path that exists but is not a regular file.
    ///
    /// A device, a pipe or a link such as `/dev/stdout` would be replaced, not written to.
    func checkPlace() throws(NetworkError) {
        let status: FileStatus
        do throws(FileError) { status = try .ofEntry(at: path) } catch {
            // The file does not exist yet; any other error appears at the first write.
            return
        }
        guard !status.isRegular else { return }
        throw NetworkError.unsendable(
            "\(path) is no regular file, and a download would take its place"
        )
    }

    /// Whether another request can continue the download after a failure.
    func mayGoOn(after error: NetworkError) -> Bool {
        error.side == .upstream && error.response == nil
            && (beginsAnew || canResume && hasProgressed)
    }

    var canResume: Bool { validator != nil && received > 0 }

    /// Returns the call for the missing part.
    func next(_ call: NetworkCall) -> NetworkCall {
        var (request, validation) = (call.request, call.validation)
        // The counted bytes must be the stored bytes.
        if !request.headers.contains(HTTPFieldName.acceptEncoding) {
            request.headers.append(.acceptEncoding, validated: "identity")
        }
        if canResume, let field = validator.flatMap({ HTTPField(.ifRange, $0) }) {
            request.headers.remove(HTTPFieldName.range)
            request.headers.append(.range, validated: "bytes=\(received)-")
            request.headers.set(field)
            validation.statuses.insert(416)
        }
        return call.with(request, validation)
    }

    /// Returns the number of existing bytes that precede those of a response.
    func kept(by response: Response) -> Int {
        response.status == 206 || response.status == 416 ? received : 0
    }

    /// Writes the content of a response to the file.
    mutating func take(_ response: Response) async throws(NetworkError) {
        hasProgressed = false
        beginsAnew = false
        let range = response.headers[.contentRange].flatMap(ContentRange.init)
        do {
            switch response.status {
            case 206 where canResume && range?.start == received && isSame(response, range):
                total = range?.total ?? total
            case 416 where canResume && range?.total == received:
                response.body.cancel()
                let (path, partialPath, received) = (path, partialPath, received)
                return try await OffLoop.run {
                    try PartialFile(path: partialPath, keeping: received).finish(as: path)
                }
            case 206, 416:
                response.body.cancel()
                beginsAnew = canResume
                (validator, received, total) = (nil, 0, nil)
                throw NetworkError(
                    .httpProtocolError,
                    side: .upstream,
                    detail: "the answer is not the range that was asked for"
                )
            default:
                received = 0
                validator = Download.validator(of: response.headers)
                total = response.body.length
            }
            let (path, partialPath, kept) = (path, partialPath, received)
            let file = try await OffLoop.run {
                try PartialFile(path: partialPath, keeping: kept)
            }
            hasFile = true
            let total = range?.total ?? response.body.length.map { $0 + kept }
            try await write(response.body, to: file, total: total)
            try await OffLoop.run { try file.finish(as: path) }
        } catch let error as FileError {
            response.body.cancel()
            if error.isLocked { hasFile = false }
            let reason = error.isLocked ? "another download writes it" : "\(error)"
            throw NetworkError(
                .httpRequestError,
                side: .downstream,
                detail: "the file \(partialPath) cannot be written: \(reason)"
            )
        } catch {
            response.body.cancel()
            throw NetworkError.of(error)
        }
    }

    /// Whether a part belongs to the same representation as the received part, as far as its fields show.
    ///
    /// Some servers ignore `If-Range` (RFC 9110 §15.3.7.3).
    private func isSame(_ part: Response, _ range: ContentRange?) -> Bool {
        if let total, let all = range?.total, all != total { return false }
        guard let validator else { return false }
        let stated = part.headers[validator.hasPrefix("\"") ? .etag : .lastModified]
        return stated == nil || stated == validator
    }

    /// The number of bytes to collect before a write, because each write switches threads.
    private static let batchSize = 256 * 1024

    private mutating func write(
        _ body: HTTPBody,
        to file: PartialFile,
        total: Int?
    ) async throws {
        switch body {
        case .empty, .tunnel: break
        case .bytes(let bytes):
            tell(bytes.count, total)
            try await store(bytes.array, in: file)
        case .stream(let source, _): try await write(source, to: file, total)
        }
        if let total, received != total {
            throw NetworkError(
                .httpResponseIncomplete,
                side: .upstream,
                detail: "\(received) of \(total) bytes came"
            )
        }
    }

    private mutating func write(
        _ source: any BodySource,
        to file: PartialFile,
        _ total: Int?
    ) async throws {
        // Copied, because a slice would keep its whole slab alive.
        var batch: [UInt8] = []
        do {
            while let piece = try await source.nextUnlessCancelled() {
                try Task.checkCancellation()
                batch.append(piece.span)
                tell(batch.count, total)
                guard batch.count >= Download.batchSize else { continue }
                try await store(batch, in: file)
                batch = []
            }
        } catch  where !(error is FileError) {
            // The download may resume after the received part.
            try await store(batch, in: file)
            throw error
        }
        try await store(batch, in: file)
    }

    private func tell(_ pending: Int, _ total: Int?) {
        progress?(
            TransferProgress(direction: .download, transferred: received + pending, total: total)
        )
    }

    private mutating func store(
        _ batch: [UInt8],
        in file: PartialFile
    ) async throws {
        guard !batch.isEmpty else { return }
        try await OffLoop.run { try file.append(batch.span) }
        received += batch.count
        hasProgressed = true
    }

    /// Returns the error that ends the download, with a resume point; removes a file that cannot be resumed.
    func closing(_ error: NetworkError) -> NetworkError {
        var error = error
        if canResume, let validator {
            error.resumePoint = ResumePoint(
                partialPath: partialPath,
                received: received,
                validator: validator
            )
        } else if hasFile {
            do throws(FileError) { try FileSystem.unlink(partialPath) } catch {
                // The file has already been removed.
            }
        }
        return error
    }

    /// Returns a strong entity tag, or a date that is a strong validator.
    ///
    /// A date is strong if the content cannot have changed twice within its second (RFC 9110 §8.8.2.2,
    /// §13.1.5).
    private static func validator(of headers: HTTPHeaders) -> String? {
        if let tag = headers[.etag] { return tag.hasPrefix("\"") ? tag : nil }
        guard let text = headers[.lastModified], let modified = RetryAfter.date(text),
            let date = headers[.date].flatMap({ RetryAfter.date($0) }),
            date - modified >= .seconds(1)
        else { return nil }
        return text
    }
}

/// A `Content-Range` field (RFC 9110 §14.4), such as `bytes 5-9/10` or `bytes */10`.
private struct ContentRange {
    let start: Int?
    let total: Int?

    init?(_ text: String) {
        guard text.hasPrefix("bytes ") else { return nil }
        let parts = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        total = ContentRange.number(parts[1])
        start = parts[0].split(separator: "-").first.flatMap(ContentRange.number)
        guard start != nil || parts[0] == "*" else { return nil }
    }

    /// Parses digits only; `Int` would accept a sign.
    private static func number(_ text: Substring) -> Int? {
        text.utf8.allSatisfy(Grammar.isDigit) ? Int(text) : nil
    }
}
