public import FoundationEssentials

/// The response of a stub to a request.
public indirect enum StubAnswer: Sendable {
    /// A response.
    case response(Response)
    /// An error instead of a response.
    case failure(NetworkError)
    /// No response, until the call is canceled or its deadline passes.
    case never
    /// A delayed response, measured by the stub's clock.
    case delayed(Duration, StubAnswer)

    /// Returns a response with a status and no content.
    public static func status(_ status: HTTPStatus, headers: HTTPHeaders = [:]) -> StubAnswer {
        .response(Response(status: status, headers: headers))
    }

    /// Returns a response with a status and content.
    public static func data(
        _ content: Data,
        status: HTTPStatus = 200,
        headers: HTTPHeaders = [:]
    ) -> StubAnswer {
        .response(
            Response(status: status, headers: headers, body: .bytes(ByteSlice(Array(content))))
        )
    }

    /// Returns a response with JSON content.
    public static func json(_ text: String, status: HTTPStatus = 200) -> StubAnswer {
        .response(
            Response(
                status: status,
                headers: [.contentType: "application/json"],
                body: .bytes(ByteSlice(text))
            )
        )
    }

    /// Returns a response with a value as JSON content; without an encoding of the value, the request fails.
    public static func json(
        encoding value: some Encodable,
        status: HTTPStatus = 200,
        using encoder: JSONEncoder = JSONEncoder()
    ) -> StubAnswer {
        do {
            let headers: HTTPHeaders = [.contentType: "application/json"]
            return .data(try encoder.encode(value), status: status, headers: headers)
        } catch {
            return .failure(.unsendable("the value of the stub: \(ErrorReason.of(error))"))
        }
    }

    /// Returns a response whose content arrives in pieces, followed by an error if there is one.
    public static func pieces(
        _ pieces: [String],
        status: HTTPStatus = 200,
        headers: HTTPHeaders = [:],
        then error: NetworkError? = nil
    ) -> StubAnswer {
        .response(
            Response(
                status: status,
                headers: headers,
                body: .stream(StubBody(pieces.map { ByteSlice($0) }, error), length: nil)
            )
        )
    }

    /// Returns a response whose content is followed by an error.
    package static func cut(
        _ content: ByteSlice,
        status: HTTPStatus,
        headers: HTTPHeaders,
        by error: NetworkError
    ) -> StubAnswer {
        let body = StubBody([content], error)
        return .response(
            Response(status: status, headers: headers, body: .stream(body, length: nil))
        )
    }

    /// Returns the response, after its delay on a clock.
    ///
    /// - Throws: the failure, or `CancellationError`.
    package func answer(on clock: any NetworkClock) async throws -> Response {
        switch self {
        case .response(var response):
            // A stub may serve many requests, but a stream can be read only once.
            if case .stream(let source as StubBody, let length) = response.body {
                response.body = .stream(source.again(), length: length)
            }
            return response
        case .failure(let error): throw error
        case .never:
            try await Never.wait()
            throw CancellationError()
        case .delayed(let delay, let answer):
            try await clock.sleep(until: clock.now + delay)
            return try await answer.answer(on: clock)
        }
    }
}

extension Never {
    /// Waits until the task is canceled.
    fileprivate static func wait() async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        defer { continuation.finish() }
        for await _ in stream {}
        try Task.checkCancellation()
    }
}
