public import FoundationEssentials

/// The response of a stub to a request.
public indirect enum StubAnswer: Sendable {
    /// A response.
    case response(Response)
    /// No response, but an error.
    case failure(NetworkError)
    /// No answer, until the call is cancelled or its deadline is over.
    case never
    /// Something, after a while on the stub's clock.
    case delayed(Duration, StubAnswer)

    /// A status without content.
    public static func status(_ status: HTTPStatus, headers: HTTPHeaders = [:]) -> StubAnswer {
        .response(Response(status: status, headers: headers))
    }

    /// A status with content.
    public static func data(
        _ content: Data,
        status: HTTPStatus = 200,
        headers: HTTPHeaders = [:]
    ) -> StubAnswer {
        .response(
            Response(status: status, headers: headers, body: .bytes(ByteSlice(Array(content))))
        )
    }

    /// JSON.
    public static func json(_ text: String, status: HTTPStatus = 200) -> StubAnswer {
        .response(
            Response(
                status: status,
                headers: [.contentType: "application/json"],
                body: .bytes(ByteSlice(text))
            )
        )
    }

    /// Content that arrives in pieces, and is cut short at its end if an error is given.
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

    /// Content that is cut short at its end.
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

    /// Answers, on a clock.
    ///
    /// - Throws: the failure, or `CancellationError`.
    package func answer(on clock: any NetworkClock) async throws -> Response {
        switch self {
        case .response(var response):
            // One answer may serve many requests; content is read once.
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
    /// Returns when the task is cancelled.
    fileprivate static func wait() async throws {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        defer { continuation.finish() }
        for await _ in stream {}
        try Task.checkCancellation()
    }
}
