public import FoundationEssentials

/// The response of an endpoint in tests and previews, without a network.
public enum SampleResponse: Sendable {
    /// A response.
    case response(HTTPStatus, headers: HTTPHeaders, content: Data)
    /// A failure.
    case failure(NetworkError)

    /// Returns a response with JSON content and status 200 by default.
    public static func json(_ text: String, status: HTTPStatus = 200) -> SampleResponse {
        .response(
            status,
            headers: [.contentType: "application/json"],
            content: Data(text.utf8)
        )
    }

    /// Returns a response with status 200 and some bytes.
    public static func data(_ content: Data) -> SampleResponse {
        .response(200, headers: [:], content: content)
    }
}
