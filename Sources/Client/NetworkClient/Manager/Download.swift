import NetproxySystem

/// The state of one download: the received part, its file, and the condition for the rest.
struct Download {
    private let path: String
    private let partialPath: String
    private let progress: (@Sendable (TransferProgress) -> Void)?
    private var validator: String?
    /// How long all of it is, as far as an answer has told in this process.
    private var total: Int?
    private(set) var received = 0
    /// Whether the last attempt brought anything: an origin that never does is not asked for ever.
    private(set) var hasProgressed = false
    /// Whether what came is of no use any more, since the content is another: all of it is asked for.
    private(set) var beginsAnew = false
    /// Whether the partial file is this download's, to be removed with it.
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

    /// Whether the file is still as long as it was: temporary files go away.
    private static func isThere(_ point: ResumePoint) -> Bool {
        do throws(FileError) {
            return try FileStatus.of(path: point.partialPath).size >= point.received
        } catch {
            return false
        }
    }

    /// Refuses a place where a file would stand instead of what is there: a device or a pipe is not
    /// written to, but replaced, and so is a link, such as `/dev/stdout`.
    func checkPlace() throws(NetworkError) {
        let status: FileStatus
        do throws(FileError) { status = try .ofEntry(at: path) } catch {
            // There is no file yet; any other fault shows at the first write.
            return
        }
        guard !status.isRegular else { return }
        throw NetworkError.unsendable(
            "\(path) is no regular file, and a download would take its place"
        )
    }

    /// Whether another request promises more after a failure.
    func mayGoOn(after error: NetworkError) -> Bool {
        error.side == .upstream && error.response == nil
            && (beginsAnew || canResume && hasProgressed)
    }

    var canResume: Bool { validator != nil && received > 0 }

    /// The call for the missing part.
    func next(_ call: NetworkCall) -> NetworkCall {
        var (request, validation) = (call.request, call.validation)
        // The bytes that are counted must be the bytes that are stored.
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

    /// How many of the bytes that are there stay in front of those of a response.
    func kept(by response: Response) -> Int {
        response.status == 206 || response.status == 416 ? received : 0
    }

    /// Writes the content of a response to its place.
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

    /// Whether a part is one of the representation that the other parts are of, as far as it tells:
    /// some servers do not look at `If-Range` (RFC 9110 §15.3.7.3).
    private func isSame(_ part: Response, _ range: ContentRange?) -> Bool {
        if let total, let all = range?.total, all != total { return false }
        guard let validator else { return false }
        let stated = part.headers[validator.hasPrefix("\"") ? .etag : .lastModified]
        return stated == nil || stated == validator
    }

    /// How much is gathered before it is written, in bytes: each write is a change of threads.
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
        // Copied: a slice would keep the whole slab that it was read into.
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
            // The download may go on after what has come.
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

    /// The error that ends the download, with the place to go on from; what cannot go on is removed.
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
                // It is gone already.
            }
        }
        return error
    }

    /// A strong entity tag, else a date that is a strong validator: the content cannot have changed
    /// twice in its second (RFC 9110 §8.8.2.2, §13.1.5).
    private static func validator(of headers: HTTPHeaders) -> String? {
        if let tag = headers[.etag] { return tag.hasPrefix("\"") ? tag : nil }
        guard let text = headers[.lastModified], let modified = RetryAfter.date(text),
            let date = headers[.date].flatMap({ RetryAfter.date($0) }),
            date - modified >= .seconds(1)
        else { return nil }
        return text
    }
}

/// `Content-Range` (RFC 9110 §14.4): `bytes 5-9/10`, `bytes */10`.
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

    /// Digits only: `Int` takes a sign.
    private static func number(_ text: Substring) -> Int? {
        text.utf8.allSatisfy(Grammar.isDigit) ? Int(text) : nil
    }
}
